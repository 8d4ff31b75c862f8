"""``zkconsumer --version``: all that a report of a fault should begin with."""

from importlib import metadata

import pytest

from zkconsumer.build_info import OPTIONAL_LIBRARIES, BuildInfo, build_info
from zkconsumer.cli.main import main
from zkconsumer.cli.version import described
from zkconsumer.records import engine
from zkconsumer.version import __version__


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
