"""Describe what runs in this process: versions, the engine and why, the optional libraries.

``zkconsumer --version``, the event ``Created`` (and so the log of each connector) and the metric
``zkconsumer_build_info``, which has these labels and is always 1, all report this description.
"""

import platform
from collections.abc import Mapping
from functools import cache
from importlib import metadata
from typing import NamedTuple

from zkconsumer.records import engine
from zkconsumer.version import __version__

OPTIONAL_LIBRARIES = ("lz4", "pyarrow", "isal")
"""Libraries that are used if they are installed."""


class BuildInfo(NamedTuple):
    """What runs in this process.

    Attributes:
        version: of this package.
        python: the interpreter and its version: ``CPython 3.11.7``.
        engine: what decodes record sets: ``native`` or ``pure``.
        crc: what computes CRC-32: ``pclmul``, ``armv8``, ``portable``; in the pure engine the
            library that does.
        why: how the native engine runs, or why the pure one does, in words.
        libraries: the version of each optional library by name; None: not installed.
    """

    version: str
    python: str
    engine: str
    crc: str
    why: str
    libraries: Mapping[str, str | None]

    def labels(self) -> dict[str, str]:
        """Return the labels of the metric ``zkconsumer_build_info``."""
        return {
            "version": self.version,
            "python": self.python,
            "engine": self.engine,
            "crc": self.crc,
        }


@cache
def build_info() -> BuildInfo:
    """Return the description of this process, which is made once. Thread: any."""
    return BuildInfo(
        version=__version__,
        python=f"{platform.python_implementation()} {platform.python_version()}",
        engine=engine.ENGINE.value,
        crc=engine.CRC,
        why=engine.WHY,
        libraries={name: _version_of(name) for name in OPTIONAL_LIBRARIES},
    )


def _version_of(library: str) -> str | None:
    try:
        return metadata.version(library)
    except metadata.PackageNotFoundError:
        return None
