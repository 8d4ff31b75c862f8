"""``zkconsumer --version``: all that a report of a fault should begin with."""

import os
import platform
import subprocess
import sys
from importlib import metadata

import pytest

from tests.support.engines import needs_native
from zkconsumer.build_info import OPTIONAL_LIBRARIES, BuildInfo, build_info
from zkconsumer.cli.main import main
from zkconsumer.cli.version import described
from zkconsumer.records import engine
from zkconsumer.version import __version__


def shown(**environment: str) -> list[str]:
    """The lines that a fresh process prints."""
    names = {key: value for key, value in os.environ.items() if key != engine.SWITCH}
    command = [sys.executable, "-m", "zkconsumer", "--version"]
    done = subprocess.run(
        command, env={**names, **environment}, capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()


@needs_native
def test_the_native_engine_is_named() -> None:
    """With what computes its checksums."""
    first, python, runs, libraries = shown()
    assert first == f"zkconsumer {__version__}"
    assert python == f"python: {platform.python_implementation()} {platform.python_version()}"
    assert runs.startswith("engine: native (CRC-32 by ")
    assert libraries.startswith("optional libraries: ")


def test_the_pure_engine_says_why_it_runs() -> None:
    """Here because it was asked for."""
    expected = f"engine: pure ({engine.SWITCH} is set; CRC-32 by "
    assert shown(ZKCONSUMER_PURE="1")[2].startswith(expected)


def test_libraries_are_listed_by_version() -> None:
    """Those that are missing too: that may be what is wrong."""
    libraries = {"lz4": "4.4.5", "pyarrow": None, "isal": None}
    some = BuildInfo("1.0", "CPython 3.13.0", "pure", "zlib", "it was asked for", libraries)
    assert described(some).splitlines()[3] == (
        "optional libraries: lz4 4.4.5; not installed: pyarrow, isal"
    )
    everything = some._replace(libraries={"lz4": "4.4.5"})
    assert described(everything).endswith("optional libraries: lz4 4.4.5")


def test_it_comes_without_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    """And ends well."""
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == described(build_info()) + "\n"


def test_what_a_metric_needs_is_there() -> None:
    """Labels are short words, the same for as long as the process lives."""
    found = build_info()
    assert found.labels() == {
        "version": __version__,
        "python": found.python,
        "engine": str(engine.ENGINE),
        "crc": engine.CRC,
    }
    assert set(found.libraries) == set(OPTIONAL_LIBRARIES)
    assert found.libraries["lz4"] == metadata.version("lz4")
