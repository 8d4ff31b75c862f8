import logging
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from zkconsumer.cli.main import main
from zkconsumer.cli.signals import StopRequested, stop_signals
from zkconsumer.version import __version__


@pytest.fixture
def _own_logging() -> Iterator[None]:
    """Restore the logging that the command sets up for its process."""
    root, kazoo = logging.getLogger(), logging.getLogger("kazoo")
    before = root.handlers[:], root.level, kazoo.level
    yield
    root.handlers[:], root.level, kazoo.level = before


def zkconsumer(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run ``python -m zkconsumer ...``."""
    return subprocess.run(
        [sys.executable, "-m", "zkconsumer", *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_the_version_is_printed() -> None:
    """The module prints the same version as the command."""
    done = zkconsumer("--version")
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, f"zkconsumer {__version__}")


def test_without_a_command_the_usage_is_shown() -> None:
    """The exit status is 2, as for any wrong usage."""
    done = zkconsumer()
    assert done.returncode == 2
    assert "usage: zkconsumer" in done.stderr


def test_every_command_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    """``--help`` lists the commands."""
    with pytest.raises(SystemExit):
        main(["--help"])
    shown = capsys.readouterr().out
    assert all(f"\n  {name} " in shown for name in ("consume", "sandbox", "demo"))


@pytest.mark.usefixtures("_own_logging")
@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("--topic", "t"), "zookeeper.connect is required: give --zookeeper"),
        (("--topic", "t", "--zookeeper", "h:1", "--group", "a/b"), "group.id is 'a/b'"),
        (("--topic", "(", "--zookeeper", "h:1"), "filter '(' can't be used"),
        (("--topic", "t", "--zookeeper", "h:1", "--consumer.config", "/no/file"), "/no/file"),
    ],
)
def test_an_error_is_one_line(
    arguments: tuple[str, ...], expected: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """It goes to standard error without a traceback; the status is that of wrong usage."""
    assert main(["consume", *arguments]) == 2
    printed = capfd.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("zkconsumer: ")
    assert expected in printed.err
    assert printed.err.count("\n") == 1


def test_debug_shows_where_an_error_came_from() -> None:
    """A traceback is printed; the one line still comes last."""
    done = zkconsumer("--debug", "consume", "--topic", "t")
    assert done.returncode == 2
    assert "Traceback" in done.stderr
    assert done.stderr.splitlines()[-1].startswith("zkconsumer: zookeeper.connect is required")


def without_stream(closed: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run ``python -m zkconsumer ...`` with one of its standard streams closed."""
    return subprocess.run(
        ["/bin/sh", "-c", f'exec "$0" -m zkconsumer "$@" {closed}', sys.executable, *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_a_closed_standard_output_is_an_error() -> None:
    """Messages that nobody can see must not be read and committed."""
    done = without_stream(">&-", "consume", "--topic", "t", "--zookeeper", "h:1")
    assert done.returncode == 1
    assert done.stderr == "zkconsumer: standard output is closed: send it to a file or a pipe\n"


def test_with_standard_error_closed_no_error_goes_to_standard_output() -> None:
    """Standard output is for messages only."""
    done = without_stream("2>&-", "consume", "--topic", "t")
    assert (done.returncode, done.stdout) == (2, "")


def test_the_first_signal_raises_and_later_ones_are_ignored() -> None:
    """A second Ctrl-C must not cut the shutdown short; then the old handlers are back."""
    before = signal.getsignal(signal.SIGTERM)
    with stop_signals():
        with pytest.raises(StopRequested):
            signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGTERM)
    assert signal.getsignal(signal.SIGTERM) is before


@pytest.mark.usefixtures("_own_logging")
def test_a_command_that_cannot_be_loaded_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """An incomplete installation, for example, causes no traceback."""
    monkeypatch.setitem(sys.modules, "zkconsumer.cli.consume.command", None)
    assert main(["consume", "--topic", "t"]) == 1
    reported = capfd.readouterr().err
    assert reported.count("\n") == 1
    assert "zkconsumer.cli.consume" in reported


@pytest.mark.usefixtures("_own_logging")
def test_an_invalid_configuration_file_is_wrong_usage(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """It causes one line and status 2; the values of a valid file are used."""
    file = tmp_path / "config.toml"
    monkeypatch.setenv("ZKCONSUMER_CONFIG", str(file))
    file.write_text("[consume]\nmax-message = 1\n")
    assert main(["consume", "--topic", "t"]) == 2
    assert "did you mean max-messages?" in capfd.readouterr().err
    file.write_text('zookeeper = "h:1"\n[consume]\ngroup = "a/b"\n')
    assert main(["consume", "--topic", "t"]) == 2
    assert "group.id is 'a/b'" in capfd.readouterr().err
    assert main(["--cluster", "plant", "consume", "--topic", "t"]) == 2
    assert "has no [clusters.plant]" in capfd.readouterr().err
