"""Runs a Java source file of this folder on the class path of the original."""

import functools
import os
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

from zkconsumer.errors import SandboxError
from zkconsumer.sandbox import jars
from zkconsumer.sandbox.java import find_java

_BRIEF = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
"""It is compiled and run once: half of the processor time goes into compiling it well."""
HERE = Path(__file__).parent
DATA = HERE / "data"


@functools.cache
def no_compiler_because() -> str | None:
    """Why Java source can't be run here; None where it can."""
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
    """The lines that a Java source file of this folder answers to ``lines``.

    Its class path is that of the original, if none is given.
    """
    path = os.pathsep.join(map(str, class_path or jars.class_path("0.8.2.2")))
    done = subprocess.run(
        [find_java(os.environ), *_BRIEF, "-cp", path, HERE / source, *arguments],
        input="".join(line + "\n" for line in lines).encode(),
        capture_output=True,
        check=False,
        timeout=timeout_s,
    )
    assert done.returncode == 0, f"{source} failed:\n{done.stderr.decode(errors='replace')[-4000:]}"
    return done.stdout.decode().splitlines()
