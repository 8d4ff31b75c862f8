"""Forked test processes behave as started ones: the same program runs both ways."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support import warm
from tests.support.process_table import is_alive
from tests.support.resources import resource_limit

REPOSITORY = Path(__file__).parents[3]
PROGRAM = [sys.executable, "-m", "tests.support.introduced"]
Run = Callable[..., "subprocess.CompletedProcess[str]"]

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only there orphans are adopted")


@contextmanager
def ignoring(number: signal.Signals) -> Iterator[None]:
    """Let processes that are started meanwhile ignore a signal."""
    before = signal.signal(number, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(number, before)


@contextmanager
def masking(mask: int) -> Iterator[None]:
    """Let processes that are started meanwhile have this file mode mask."""
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


@contextmanager
def seeded() -> Iterator[None]:
    """Set a variable that Python reads only when it starts."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONHASHSEED", "7")
        yield


@pytest.fixture
def forked(monkeypatch: pytest.MonkeyPatch) -> list[int | None]:
    """Record the result of each fork: a process id, or None if it was started instead."""
    forks: list[int | None] = []
    fork = warm._Forker.fork

    def note(*given: Any) -> int | None:
        forks.append(fork(*given))
        return forks[-1]

    monkeypatch.setattr(warm._Forker, "fork", note)
    return forks


def forker() -> int:
    """Return the id of the process that forks."""
    assert outcome(warm.run, "0", cwd=REPOSITORY)[0] == 0
    assert warm._forker.process is not None
    return warm._forker.process.pid


def outcome(run: Run, action: str, **more: Any) -> tuple[int, dict[str, object], str]:
    """Return the exit status, the process's description of itself, and the end of its errors."""
    done = run([*PROGRAM, action, "two words"], capture_output=True, text=True, timeout=60, **more)
    return done.returncode, json.loads(done.stdout), done.stderr[-20:]


@pytest.mark.parametrize("action", ["0", "3", "fail"])
def test_a_forked_process_is_as_one_that_subprocess_starts(action: str) -> None:
    """Arguments, folder, environment, parent, exit status and tracebacks are the same."""
    more = {"cwd": REPOSITORY, "env": {**os.environ, "WORD": "said"}}
    forked = outcome(warm.run, action, **more)
    assert forked == outcome(subprocess.run, action, **more)
    assert forked[1]["parent"] == os.getpid()
    assert forked[1]["word"] == "said"


def test_a_forked_process_may_lead_a_session_and_read_input() -> None:
    """The keywords are those of subprocess; unset variables are unset in it, too."""
    with warm.Popen(
        [*PROGRAM, "read"],
        cwd=REPOSITORY,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
        text=True,
    ) as process:
        described = json.loads(process.communicate("all of it", timeout=60)[0])
    assert (described["session"], described["input"], described["word"]) == (
        True,
        "all of it",
        None,
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_signal_ends_a_forked_process(number: signal.Signals) -> None:
    """With PYTHONUNBUFFERED, each line is written at once."""
    with warm.Popen(
        [*PROGRAM, "wait"],
        cwd=REPOSITORY,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert json.loads(process.stdout.readline())["arguments"] == ["wait"]
        assert process.stderr.readline() == "to no pipe's buffer\n"
        process.send_signal(number)
        assert process.wait(60) == -number


@pytest.mark.parametrize("leads_session", [False, True])
def test_a_signal_works_as_soon_as_the_process_exists(leads_session: bool) -> None:
    """So does one to its session: the caller need not wait for that."""
    for _ in range(5):
        with warm.Popen[bytes](
            [*PROGRAM, "wait"],
            cwd=REPOSITORY,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=leads_session,
        ) as process:
            (os.killpg if leads_session else os.kill)(process.pid, signal.SIGINT)
            assert process.wait(60) == -signal.SIGINT


@pytest.mark.parametrize(
    "unusual",
    [
        lambda: resource_limit("RLIMIT_NOFILE", 256),
        lambda: ignoring(signal.SIGUSR2),
        lambda: masking(0o77),
        seeded,
    ],
    ids=["limit", "signal", "mask", "variable"],
)
def test_a_forked_process_inherits_the_current_state(
    unusual: Callable[[], AbstractContextManager[None]], forked: list[int | None]
) -> None:
    """It has current limits, ignored signals, mask and variables; later processes don't."""
    before = outcome(warm.run, "0", cwd=REPOSITORY)
    with unusual():
        meanwhile = outcome(warm.run, "0", cwd=REPOSITORY)
        assert meanwhile == outcome(subprocess.run, "0", cwd=REPOSITORY)
    assert meanwhile != before == outcome(warm.run, "0", cwd=REPOSITORY)
    assert [pid is not None for pid in forked] == [True, True]


@pytest.mark.parametrize("more", [{"umask": 0o77}, {"process_group": 0}])
def test_unsupported_keywords_start_a_process_instead(more: Mapping[str, Any]) -> None:
    """It then behaves as one of subprocess."""
    assert outcome(warm.run, "0", cwd=REPOSITORY, **more) == outcome(
        subprocess.run, "0", cwd=REPOSITORY, **more
    )


def test_a_module_that_can_not_be_loaded_is_an_error_as_usual(forked: list[int | None]) -> None:
    """The next process is forked as before."""
    before = forker()
    done = warm.run(
        [sys.executable, "-m", "tests.support.nowhere"],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, "No module named tests.support.nowhere" in done.stderr) == (1, True)
    with pytest.raises(FileNotFoundError, match="/nowhere"):
        warm.run([*PROGRAM, "0"], cwd="/nowhere")
    assert forker() == before
    assert [pid is not None for pid in forked] == [True, False, False, True]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_a_forker_that_is_gone_is_replaced(
    number: signal.Signals, forked: list[int | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether it was killed or hangs, the caller gets a process."""
    before = forker()
    os.kill(before, number)
    with monkeypatch.context() as patch:
        patch.setattr(warm, "_TIMEOUT_S", 0.5)
        assert outcome(warm.run, "0", cwd=REPOSITORY)[0] == 0
    assert not is_alive(before)
    assert forker() != before
    assert [pid is not None for pid in forked] == [True, False, True]


def test_a_forker_ends_with_its_parent() -> None:
    """No file is left open, and no process running."""
    program = (
        "import sys; from tests.support import warm\n"
        "warm.run([sys.executable, '-m', 'tests.support.introduced', '0'])\n"
        "print(warm._forker.process.pid)\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "always", "-c", program],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stderr == ""
    assert not is_alive(int(done.stdout.splitlines()[-1]))


def test_what_only_a_start_can_do_is_not_forked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another engine, another hash seed, or a program that is no module is started."""
    forked: list[object] = []
    monkeypatch.setattr(warm._Forker, "fork", lambda *given: forked.append(given))
    other = {**os.environ, "ZKCONSUMER_PURE": "1", "PYTHONHASHSEED": "7"}
    assert outcome(warm.run, "0", cwd=REPOSITORY, env=other)[0] == 0
    assert warm.run([sys.executable, "-c", "pass"]).returncode == 0
    with pytest.raises(subprocess.CalledProcessError):
        warm.run([sys.executable, "-c", "raise SystemExit(1)"], check=True)
    assert forked == []
