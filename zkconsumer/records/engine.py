"""Selects the decoder: the native core's if it was built, else the one in Python.

Both give the same results and the same errors. ``ZKCONSUMER_PURE=1`` in the environment forces the
decoder in Python. Only this module decides, once, when it is imported.
"""

import os
from collections.abc import Mapping
from enum import StrEnum
from functools import partial
from typing import Final

from zkconsumer.records import checksum, offset_order

SWITCH = "ZKCONSUMER_PURE"


_PURE_CRC: Final = f"CRC-32 by {checksum.NAME}"


class Engine(StrEnum):
    """The implementations of the decoder."""

    NATIVE = "native"
    PURE = "pure"


def _choose() -> tuple[Engine, str, str]:
    if os.environ.get(SWITCH, "0") not in ("", "0"):
        return Engine.PURE, checksum.NAME, f"{SWITCH} is set; {_PURE_CRC}"
    try:
        from zkconsumer.native import _core  # noqa: PLC0415 - may be missing or disabled
    except ImportError as error:
        return Engine.PURE, checksum.NAME, f"the native core can't be loaded: {error}; {_PURE_CRC}"
    return Engine.NATIVE, _core.CRC32_NAME, _how(_core.CRC32_NAME, _core.LIBRARIES)


def _how(crc: str, libraries: Mapping[str, str | None]) -> str:
    """Describe how the native core was built, and what that leaves to Python."""
    linked = [f"{name} {version}" for name, version in libraries.items() if version]
    missing = [name for name, version in libraries.items() if not version]
    left = f"built without {', '.join(missing)}: Python decompresses" if missing else ""
    return "; ".join(filter(None, (f"CRC-32 by {crc}", ", ".join(linked), left)))


_choice = _choose()

ENGINE: Final[Engine] = _choice[0]
"""The decoder of this process."""

CRC: Final[str] = _choice[1]
"""The implementation of CRC-32: the native core's, or the pure engine's library."""

WHY: Final[str] = _choice[2]
"""Why this decoder was selected, or how it runs, as text."""

if ENGINE is Engine.NATIVE:
    from zkconsumer.records.native_fetched import decode_fetched, find_descent
else:
    from zkconsumer.records.offset_order import find_descent
    from zkconsumer.records.pure_fetched import decode_fetched

trusted_range = partial(offset_order.trusted_range, find=find_descent)
"""Validate the offsets of a fetched set; see ``offset_order.trusted_range``."""

__all__ = [
    "CRC",
    "ENGINE",
    "SWITCH",
    "WHY",
    "Engine",
    "decode_fetched",
    "trusted_range",
]
