"""What runs here: versions, the engine and why, the optional libraries.

One answer for everybody: ``zkconsumer --version``, the event ``Created`` and so the log of each
connector, and a metric ``zkconsumer_build_info`` that has these labels and is always 1.
"""

import platform
from collections.abc import Mapping
from functools import cache
from importlib import metadata
from typing import NamedTuple

from zkconsumer.records import engine
from zkconsumer.version import __version__

OPTIONAL_LIBRARIES = ("lz4", "pyarrow", "isal")
"""What is used where it is installed."""


class BuildInfo(NamedTuple):
    """What runs in this process.

    Attributes:
        version: of this package.
        python: the interpreter and its version: ``CPython 3.11.7``.
        engine: what decodes record sets: ``native`` or ``pure``.
        crc: what computes CRC-32: ``pclmul``, ``armv8``, ``portable``; in the pure engine the
            library that does.
        why: for people: how the native engine runs, or why the pure one does.
        libraries: the optional libraries by name, with their versions; None: not installed.
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
    """Look, once, at this process and what is installed. Thread: any."""
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
