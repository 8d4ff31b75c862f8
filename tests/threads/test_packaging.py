"""What is packaged, and how builds continue or fail without a compiler and libraries.

The build's own hooks run in a copy of the sources, with a compiler that always fails.
"""

import gzip
import os
import runpy
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import pytest

from zkconsumer.records.engine import SWITCH

ROOT = Path(__file__).parent.parent.parent
NATIVE = Path("zkconsumer/native")
WRITTEN = Path("build/cython")
PACKAGES = ("zkconsumer", "pyspark_zkconsumer")
FILES = ("setup.py", "setup.cfg", "pyproject.toml", "MANIFEST.in", "README.md", "LICENSE")
HOOK = "from setuptools import build_meta; import sys; {prepare}build_meta.{hook}(sys.argv[1])"
PRINT_ENGINE = "from zkconsumer.records import engine; print(engine.ENGINE, '-', engine.WHY)"
NO_COMPILER = {"CC": "/bin/false"}


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the sources as in a clone, with Cython's output, if there is any.

    Cython would take seconds to write the same again in each worker.
    """
    folder = tmp_path_factory.mktemp("packaging") / "sources"
    skipped = shutil.ignore_patterns("*.so", "__pycache__")
    for package in PACKAGES:
        shutil.copytree(ROOT / package, folder / package, ignore=skipped)
    for name in FILES:
        shutil.copy(ROOT / name, folder)
    if (ROOT / WRITTEN).exists():
        shutil.copytree(ROOT / WRITTEN, folder / WRITTEN)
    return folder


def environment(**changes: str) -> dict[str, str]:
    """Return the environment of this process without the build's switches, and with changes."""
    switches = {SWITCH, "ZKCONSUMER_NATIVE", "CC", "PYTHONPATH"}
    return {key: value for key, value in os.environ.items() if key not in switches} | changes


def run_hook(
    hook: str, sources: Path, made: Path, prepare: str = "", **changes: str
) -> subprocess.CompletedProcess[str]:
    """Call a build hook as pip does, in a process of its own."""
    return subprocess.run(
        [sys.executable, "-c", HOOK.format(prepare=prepare, hook=hook), str(made)],
        cwd=sources,
        env=environment(**changes),
        capture_output=True,
        text=True,
        check=False,
    )


def build_wheel(
    sources: Path, made: Path, prepare: str = "", **changes: str
) -> tuple[Path, str, list[str]]:
    """Build a wheel; return it with the build's warnings and the files in it."""
    done = run_hook("build_wheel", sources, made, prepare, **changes)
    assert done.returncode == 0, done.stderr
    [wheel] = made.glob("*.whl")
    with zipfile.ZipFile(wheel) as packed:
        return wheel, done.stderr, packed.namelist()


def installed_engine(wheel: Path, folder: Path) -> str:
    """Return the engine that runs with this wheel installed."""
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(folder)
    done = subprocess.run(
        [sys.executable, "-c", PRINT_ENGINE],
        cwd=folder,
        env=environment(PYTHONPATH=str(folder)),
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def test_the_source_distribution_is_complete(sources: Path, tmp_path: Path) -> None:
    """It has all sources of the core, and nothing that is generated from them."""
    done = run_hook("build_sdist", sources, tmp_path)
    assert done.returncode == 0, done.stderr
    [archive] = tmp_path.glob("*.tar.gz")
    with tarfile.open(archive) as packed:
        names = {name.partition("/")[2] for name in packed.getnames()}
    core = [file for file in (ROOT / NATIVE).rglob("*") if file.suffix in {".c", ".h"}]
    cython = [file for file in (ROOT / NATIVE).iterdir() if file.suffix[:3] in {".px", ".py"}]
    assert len(core) > 20
    assert {str(file.relative_to(ROOT)) for file in (*core, *cython)} <= names
    assert {"setup.py", "pyproject.toml", "LICENSE", "zkconsumer/py.typed"} <= names
    assert not [name for name in names if name.endswith(".so") or name.startswith("build")]


def test_without_a_compiler_the_package_installs(sources: Path, tmp_path: Path) -> None:
    """The build warns, and the package runs in pure Python."""
    wheel, complaints, names = build_wheel(sources, tmp_path, **NO_COMPILER)
    assert "no native core, zkconsumer will run in pure Python: " in complaints
    assert "/bin/false" in complaints
    assert not [name for name in names if name.endswith((".so", ".c", ".pyx"))]
    assert {"zkconsumer/native/_core.pyi", "zkconsumer/py.typed"} <= set(names)
    assert "pyspark_zkconsumer/__init__.py" in names  # by this name Spark finds the data source
    reported = installed_engine(wheel, tmp_path / "site")
    assert reported.startswith("pure - the native core can't be loaded: ")


def test_without_cython_the_package_installs(sources: Path, tmp_path: Path) -> None:
    """It does as without a compiler."""
    hidden = "sys.modules.update(dict.fromkeys(('Cython', 'Cython.Build'))); "
    _, complaints, names = build_wheel(sources, tmp_path, hidden)
    assert "no native core" in complaints
    assert "Cython" in complaints
    assert not [name for name in names if name.endswith(".so")]


def test_the_pure_package_can_be_requested(sources: Path, tmp_path: Path) -> None:
    """Its wheel is for every platform, since nothing in it is compiled."""
    wheel, complaints, names = build_wheel(sources, tmp_path, ZKCONSUMER_PURE="1", **NO_COMPILER)
    assert wheel.name.endswith("-py3-none-any.whl")
    assert "no native core" not in complaints
    assert "zkconsumer/records/decode.py" in names
    assert not [name for name in names if name.endswith(".so")]


def test_a_failed_build_leaves_no_older_core(sources: Path) -> None:
    """Otherwise a checkout would run old code, and the tests of the new code would pass on it."""
    old = sources / NATIVE / f"_core{sysconfig.get_config_var('EXT_SUFFIX')}"
    old.write_bytes(b"built from what the sources were")
    subprocess.run(
        [sys.executable, "setup.py", "-q", "build_ext", "--inplace"],
        cwd=sources,
        env=environment(**NO_COMPILER),
        capture_output=True,
        check=True,
    )
    assert not old.exists()


def test_the_native_core_can_be_required(sources: Path, tmp_path: Path) -> None:
    """A release build must not produce a wheel without it."""
    done = run_hook("build_wheel", sources, tmp_path, ZKCONSUMER_NATIVE="1", **NO_COMPILER)
    assert done.returncode != 0
    assert "/bin/false" in done.stderr
    assert list(tmp_path.glob("*.whl")) == []


REFUSING = """#!/bin/sh
case "$*" in *-llz4*|*-lzstd*) echo "zstd.h: No such file or directory" >&2; exit 1;; esac
exec gcc "$@"
"""
CODECS_PROGRAM = """
#include <stdio.h>
#include "crc32.h"
#include "sink.h"
int main(void) {
    static const uint8_t GZIP[] = {%s};
    static const uint8_t ZSTD[] = {0x28, 0xB5, 0x2F, 0xFD, 0, 0x58, 0x21, 0, 0, 't', 'e', 'x', 't'};
    zk_sink sink = {zk_buffer_new(0), 64};
    zk_crc32_choose();
    printf("%%d", zk_decompress(ZK_GZIP, GZIP, sizeof GZIP, 2, &sink) == ZK_DECODED);
    printf("%%d", zk_decompress(ZK_ZSTD, ZSTD, sizeof ZSTD, 2, &sink) == ZK_REFUSED);
    printf("%%d", !zk_lz4_version() && !zk_zstd_version() && zk_zlib_version());
    return 0;
}
"""


def test_without_headers_a_codec_is_left_to_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The build warns of each; available libraries are linked, and other codecs are refused."""
    compiler = tmp_path / "cc"
    compiler.write_text(REFUSING)
    compiler.chmod(0o755)
    monkeypatch.chdir(ROOT)
    monkeypatch.delenv("ZKCONSUMER_NATIVE", raising=False)
    monkeypatch.delenv(SWITCH, raising=False)
    setuptools = import_module("setuptools")
    monkeypatch.setattr(setuptools, "setup", lambda **_: None)
    made = runpy.run_path(str(ROOT / "setup.py"))
    build = made["BuildIfPossible"](setuptools.Distribution())
    build.compiler = SimpleNamespace(compiler_so=[str(compiler), "-fPIC"])
    message: list[str] = []
    monkeypatch.setattr(build, "warn", message.append)
    [extension] = made["extensions"]()
    build.link_libraries(extension)
    assert extension.define_macros == [("ZK_WITH_ZLIB", "1")]
    assert extension.libraries == ["z"]
    assert message == [
        f"no {header}, Python will decompress in its place: zstd.h: No such file or directory"
        for header in ("lz4frame.h", "zstd.h")
    ]
    source, program = tmp_path / "ask.c", tmp_path / "ask"
    source.write_text(CODECS_PROGRAM % ",".join(map(str, gzip.compress(b"text", mtime=0))))
    csrc = ROOT / NATIVE / "csrc"
    macros = [f"-D{name}={value}" for name, value in extension.define_macros]
    command = ["gcc", "-std=c11", *macros, f"-I{csrc}", str(source), *map(str, csrc.glob("*.c"))]
    subprocess.run([*command, "-o", str(program), "-lz", "-pthread"], check=True)
    reported = subprocess.run([str(program)], capture_output=True, text=True, check=True)
    assert reported.stdout == "111"
    monkeypatch.setenv("ZKCONSUMER_NATIVE", "1")
    with pytest.raises(RuntimeError, match=r"can't build with lz4frame\.h: zstd\.h: No such"):
        build.link_libraries(extension)
