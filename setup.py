"""Builds the native core where a compiler is found; everything else stands in setup.cfg.

Without a compiler, or with ``ZKCONSUMER_PURE=1``, the package installs without it and runs in pure
Python: the same results, more slowly.
"""

import os
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

SOURCES = Path("zkconsumer/native")


class BuildIfPossible(build_ext):
    """Says why the core can't be built, and lets the installation go on without it."""

    def build_extensions(self) -> None:
        """Build what can be built; the rest never was there."""
        wanted = list(self.extensions)
        self.extensions = []
        for extension in wanted:
            try:
                self.check_extensions_list([extension])
                self.build_extension(extension)
            except Exception as error:  # noqa: BLE001 - compilers fail in many ways
                self.warn(f"no native core, zkconsumer will run in pure Python: {error}")
            else:
                self.extensions.append(extension)


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
    )
    return cythonize([core], build_dir="build/cython", compiler_directives={"language_level": 3})


setup(ext_modules=extensions(), cmdclass={"build_ext": BuildIfPossible})
