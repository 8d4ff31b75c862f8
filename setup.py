"""Builds the native core where a compiler is found; everything else stands in setup.cfg.

Without a compiler, or with ``ZKCONSUMER_PURE=1``, the package installs without it and runs in pure
Python: the same results, more slowly. With ``ZKCONSUMER_NATIVE=1`` a core that can't be built is an
error: for those who build wheels, and for tests. See docs/install.md.
"""

import os
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

SOURCES = Path("zkconsumer/native")


def is_set(name: str) -> bool:
    """Whether a switch of the environment is on; the same rule as in ``records.engine``."""
    return os.environ.get(name, "0") not in ("", "0")


class BuildIfPossible(build_ext):
    """Says why the core can't be built, and lets the installation go on without it."""

    def run(self) -> None:
        """Build; of what can't be built no older one may be left to run in its place."""
        in_place = self.inplace  # it is off while super() builds
        wanted = list(self.extensions)
        super().run()
        for extension in wanted:
            if in_place and extension not in self.extensions:
                Path(self.get_ext_filename(extension.name)).unlink(missing_ok=True)

    def build_extensions(self) -> None:
        """Build what can be built; the rest never was there."""
        wanted = list(self.extensions)
        self.extensions = []
        for extension in wanted:
            try:
                self.build_extension(self.generated(extension))
            except Exception as error:  # compilers fail in many ways
                if is_set("ZKCONSUMER_NATIVE"):
                    raise
                self.warn(f"no native core, zkconsumer will run in pure Python: {error}")
            else:
                self.extensions.append(extension)

    def generated(self, extension: Extension) -> Extension:
        """Have Cython write its C, now that it is wanted: packing sources needs none."""
        from Cython.Build import cythonize  # noqa: PLC0415 - it may be missing

        [made] = cythonize(
            [extension], build_dir="build/cython", compiler_directives={"language_level": 3}
        )
        extension.sources = made.sources
        self.check_extensions_list([extension])
        return extension


def extensions() -> list[Extension]:
    """Describe the extension; none where it is not wanted."""
    if is_set("ZKCONSUMER_PURE"):
        return []
    return [
        Extension(
            "zkconsumer.native._core",
            sources=[str(SOURCES / "_core.pyx"), *sorted(map(str, SOURCES.glob("csrc/*.c")))],
            include_dirs=[str(SOURCES / "csrc")],
            depends=sorted(map(str, SOURCES.glob("csrc/*.h"))),
            extra_compile_args=["-std=c11", "-O3", "-fvisibility=hidden"],
        )
    ]


setup(ext_modules=extensions(), cmdclass={"build_ext": BuildIfPossible})
