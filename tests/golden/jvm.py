"""Runs a Java source file of this folder on the class path of the original."""

import functools
import hashlib
import os
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from zkconsumer.errors import SandboxError
from zkconsumer.sandbox import jars
from zkconsumer.sandbox.java import find_java

_BRIEF = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
"""Options for short runs, in which optimizing compilation would take half of the time."""
HERE = Path(__file__).parent
_CLASSES = HERE.parents[1] / "build" / "oracles"
"""The folder of compiled classes, kept because compiling takes longer than most oracles run."""
DATA = HERE / "data"


@functools.cache
def no_compiler_because() -> str | None:
    """Return why Java source can't be run here, or None if it can."""
    try:
        java = find_java(os.environ)
    except SandboxError as error:
        return str(error)
    modules = subprocess.run(
        [java, "--list-modules"], capture_output=True, text=True, check=False, timeout=60
    )
    if "jdk.compiler@" not in modules.stdout:
        return f"{java} is a runtime without a compiler: a JDK of 11 or later is needed"
    return None


def run_oracle(
    source: str,
    arguments: Sequence[str],
    lines: Iterable[str],
    *,
    timeout_s: int = 600,
    class_path: Sequence[Path] = (),
) -> list[str]:
    """Return the lines that a Java source file of this folder prints for ``lines``.

    Its class path is that of the original, if none is given.
    """
    java, path = find_java(os.environ), [*(class_path or jars.class_path("0.8.2.2"))]
    classes = _compiled(HERE / source, java, path)
    done = subprocess.run(
        [java, *_BRIEF, "-cp", _joined([classes, *path]), Path(source).stem, *arguments],
        input="".join(line + "\n" for line in lines).encode(),
        capture_output=True,
        check=False,
        timeout=timeout_s,
    )
    assert done.returncode == 0, f"{source} failed:\n{done.stderr.decode(errors='replace')[-4000:]}"
    return done.stdout.decode().splitlines()


def _compiled(source: Path, java: Path, class_path: Sequence[Path]) -> Path:
    """Compile a source file, with constants from the class path, and return its folder."""
    path = _joined(class_path)
    digest = hashlib.sha256(f"{java}\0{path}\0".encode() + source.read_bytes()).hexdigest()[:16]
    folder = _CLASSES / digest
    if not folder.exists():
        _CLASSES.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=_CLASSES, ignore_cleanup_errors=True) as made:
            compiler = (java, *_BRIEF, "-m", "jdk.compiler/com.sun.tools.javac.Main")
            subprocess.run([*compiler, "-cp", path, "-d", made, source], check=True)
            with suppress(OSError):  # another process was faster
                Path(made).rename(folder)
    return folder


def _joined(class_path: Sequence[Path]) -> str:
    return os.pathsep.join(map(str, class_path))
