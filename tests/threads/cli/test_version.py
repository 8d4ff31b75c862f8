"""``--version``, in processes of their own (the unit tests of the same name hold the rest)."""

import os
import platform
import subprocess
import sys

from tests.support.engines import needs_native
from zkconsumer.records import engine
from zkconsumer.version import __version__


def shown(**environment: str) -> list[str]:
    """Return the lines that a fresh process prints."""
    names = {key: value for key, value in os.environ.items() if key != engine.SWITCH}
    command = [sys.executable, "-m", "zkconsumer", "--version"]
    done = subprocess.run(
        command, env={**names, **environment}, capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()


@needs_native
def test_the_native_engine_is_named() -> None:
    """The line also names the CRC-32 implementation."""
    first, python, runs, libraries = shown()
    assert first == f"zkconsumer {__version__}"
    assert python == f"python: {platform.python_implementation()} {platform.python_version()}"
    assert runs.startswith("engine: native (CRC-32 by ")
    assert libraries.startswith("optional libraries: ")


def test_the_pure_engine_says_why_it_runs() -> None:
    """In this test an environment variable requests it."""
    expected = f"engine: pure ({engine.SWITCH} is set; CRC-32 by "
    assert shown(ZKCONSUMER_PURE="1")[2].startswith(expected)
