"""Builds the native core where a compiler is found; everything else stands in setup.cfg.

Without a compiler, or with ``ZKCONSUMER_PURE=1``, the package installs without it and runs in pure
Python: the same results, more slowly. Without the headers of a library that decompresses the core
is built without that codec, which Python then reads. With ``ZKCONSUMER_NATIVE=1`` either is an
error: for those who build wheels, and for tests. See docs/install.md.
"""

import os
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

SOURCES = Path("zkconsumer/native")


class Library(NamedTuple):
    """A library that decompresses: how it is linked, and a call that the core makes."""

    name: str
    header: str
    macro: str
    call: str


LIBRARIES = (
    Library("z", "zlib.h", "ZK_WITH_ZLIB", "inflateValidate(0, 0)"),
    Library("lz4", "lz4frame.h", "ZK_WITH_LZ4", "LZ4F_isError(0)"),
    Library("zstd", "zstd.h", "ZK_WITH_ZSTD", "ZSTD_DCtx_setParameter(0, ZSTD_d_windowLogMax, 27)"),
)

# What is read comes from strangers: should a bound fail after all, it ends the process there.
HARDENED = ("-fstack-protector-strong", "-U_FORTIFY_SOURCE", "-D_FORTIFY_SOURCE=2")
ELF_HARDENED = ("-Wl,-z,relro", "-Wl,-z,now", "-Wl,-z,noexecstack")
LINKED_HARDENED = () if sys.platform == "darwin" else ELF_HARDENED


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
                self.link_libraries(extension)
                self.build_extension(self.compiled(self.generated(extension)))
            except Exception as error:  # compilers fail in many ways
                if is_set("ZKCONSUMER_NATIVE"):
                    raise
                self.warn(f"no native core, zkconsumer will run in pure Python: {error}")
            else:
                self.extensions.append(extension)

    def link_libraries(self, extension: Extension) -> None:
        """Use those libraries whose headers are there."""
        for library in LIBRARIES:
            failure = self.failure_with(library)
            if not failure:
                extension.define_macros.append((library.macro, "1"))
                extension.libraries.append(library.name)
            elif is_set("ZKCONSUMER_NATIVE"):
                raise RuntimeError(f"can't build with {library.header}: {failure}")
            else:
                self.warn(f"no {library.header}, Python will decompress in its place: {failure}")

    def failure_with(self, library: Library) -> str:
        """Why a program with a call of the library can't be built; nothing if it can."""
        with TemporaryDirectory() as folder:
            source = Path(folder, "probe.c")
            source.write_text(
                f"#include <{library.header}>\nint main(void) {{ return (int){library.call}; }}\n"
            )
            command = [*self.compiler.compiler_so, str(source), "-o", str(Path(folder, "probe"))]
            command += [*shlex.split(os.environ.get("LDFLAGS", "")), f"-l{library.name}"]
            done = subprocess.run(  # noqa: S603 - the compiler that builds the rest
                command, capture_output=True, text=True, check=False
            )
        message = done.stderr.strip() or f"{command[0]} ended with {done.returncode}"
        return message.splitlines()[0] if done.returncode else ""

    def generated(self, extension: Extension) -> Extension:
        """Have Cython write its C, now that it is wanted: packing sources needs none."""
        from Cython.Build import cythonize  # noqa: PLC0415 - it may be missing

        [made] = cythonize(
            [extension], build_dir="build/cython", compiler_directives={"language_level": 3}
        )
        extension.sources = made.sources
        self.check_extensions_list([extension])
        return extension

    def compiled(self, extension: Extension) -> Extension:
        """Compile side by side; most of the time goes into what Cython wrote, whose loops are ours.

        So that is not optimised to the last, and nothing gets symbols for debuggers: half the time.
        """

        def compiled(source: str) -> list[str]:
            optimised = "-O3" if source.startswith(str(SOURCES)) else "-O2"
            return self.compiler.compile(
                [source],
                output_dir=self.build_temp,
                macros=extension.define_macros,
                include_dirs=extension.include_dirs,
                extra_postargs=[*extension.extra_compile_args, "-g0", optimised],
                depends=extension.depends,
            )

        with ThreadPoolExecutor(os.cpu_count()) as pool:
            objects = [made for [made] in pool.map(compiled, extension.sources)]
        extension.sources, extension.extra_objects = [], objects
        # Without sources only what it depends on tells that it has to be linked again.
        extension.depends = [*extension.depends, *objects]
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
            extra_compile_args=["-std=c11", "-fvisibility=hidden", *HARDENED],
            extra_link_args=list(LINKED_HARDENED),
        )
    ]


setup(ext_modules=extensions(), cmdclass={"build_ext": BuildIfPossible})
