"""``zkconsumer --version``: what a bug report should start with."""

from importlib import metadata

import pytest

from zkconsumer.build_info import OPTIONAL_LIBRARIES, BuildInfo, build_info
from zkconsumer.cli.main import main
from zkconsumer.cli.version import described
from zkconsumer.records import engine
from zkconsumer.version import __version__


def test_libraries_are_listed_with_their_versions() -> None:
    """Missing ones are listed too, since they may be the cause."""
    libraries = {"lz4": "4.4.5", "pyarrow": None, "isal": None}
    info = BuildInfo("1.0", "CPython 3.13.0", "pure", "zlib", "it was asked for", libraries)
    assert described(info).splitlines()[3] == (
        "optional libraries: lz4 4.4.5; not installed: pyarrow, isal"
    )
    everything = info._replace(libraries={"lz4": "4.4.5"})
    assert described(everything).endswith("optional libraries: lz4 4.4.5")


def test_the_version_needs_no_command(capsys: pytest.CaptureFixture[str]) -> None:
    """The exit status is 0."""
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == described(build_info()) + "\n"


def test_the_build_has_labels_for_metrics() -> None:
    """Labels are short words that do not change while the process runs."""
    found = build_info()
    assert found.labels() == {
        "version": __version__,
        "python": found.python,
        "engine": str(engine.ENGINE),
        "crc": engine.CRC,
    }
    assert set(found.libraries) == set(OPTIONAL_LIBRARIES)
    assert found.libraries["lz4"] == metadata.version("lz4")
