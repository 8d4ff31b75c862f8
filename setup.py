"""Builds the native core where a compiler is found; everything else stands in setup.cfg.

Without a compiler, or with ``ZKCONSUMER_PURE=1``, the package installs without it and runs in pure
Python: the same results, more slowly.
"""

import os
from pathlib import Path

from setuptools import Extension, setup

SOURCES = Path("zkconsumer/native")


def extensions() -> list[Extension]:
    """Describe the extension; none where it is not wanted or can't be generated."""
    if os.environ.get("ZKCONSUMER_PURE") == "1":
        return []
    try:
        from Cython.Build import cythonize  # noqa: PLC0415 - it may be missing
    except ImportError:
        return []
    core = Extension(
        "zkconsumer.native._core",
        sources=[str(SOURCES / "_core.pyx"), *sorted(map(str, SOURCES.glob("csrc/*.c")))],
        include_dirs=[str(SOURCES / "csrc")],
        depends=sorted(map(str, SOURCES.glob("csrc/*.h"))),
        extra_compile_args=["-std=c11", "-O3"],
        optional=True,  # a failed build is a warning, not a failed install
    )
    return cythonize([core], build_dir="build/cython", compiler_directives={"language_level": 3})


setup(ext_modules=extensions())
