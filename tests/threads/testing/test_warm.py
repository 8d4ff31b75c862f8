"""A forked process is as one that was started: the same program, told both ways."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support import warm

REPOSITORY = Path(__file__).parents[3]
PROGRAM = [sys.executable, "-m", "tests.support.introduced"]
Run = Callable[..., "subprocess.CompletedProcess[str]"]

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only there orphans are adopted")


def outcome(run: Run, deed: str, **more: Any) -> tuple[int, dict[str, object], str]:
    """The status, what it said of itself, and the last line of its errors."""
    done = run([*PROGRAM, deed, "two words"], capture_output=True, text=True, timeout=60, **more)
    return done.returncode, json.loads(done.stdout), done.stderr[-20:]


@pytest.mark.parametrize("deed", ["0", "3", "fail"])
def test_it_is_as_one_that_subprocess_starts(deed: str) -> None:
    """Words, folder, environment, the parent, the status and what an exception leaves."""
    more = {"cwd": REPOSITORY, "env": {**os.environ, "WORD": "said"}}
    forked = outcome(warm.run, deed, **more)
    assert forked == outcome(subprocess.run, deed, **more)
    assert forked[1]["parent"] == os.getpid()
    assert forked[1]["word"] == "said"


def test_it_may_lead_a_session_and_be_given_input() -> None:
    """By the same keywords; what the environment lacks it lacks, too."""
    with warm.Popen(
        [*PROGRAM, "read"],
        cwd=REPOSITORY,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
        text=True,
    ) as process:
        told = json.loads(process.communicate("all of it", timeout=60)[0])
    assert (told["session"], told["input"], told["word"]) == (True, "all of it", None)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_signal_ends_it_as_any_other(number: signal.Signals) -> None:
    """Each line is there at once, where no buffer was wanted."""
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


def test_what_is_obeyed_at_a_start_is_no_matter_of_a_fork(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another engine, another interpreter, no module: those are started."""
    forked: list[object] = []
    monkeypatch.setattr(warm._Forker, "fork", lambda *given: forked.append(given))
    other = {**os.environ, "ZKCONSUMER_PURE": "1", "PYTHONHASHSEED": "7"}
    assert outcome(warm.run, "0", cwd=REPOSITORY, env=other)[0] == 0
    assert warm.run([sys.executable, "-c", "pass"]).returncode == 0
    with pytest.raises(subprocess.CalledProcessError):
        warm.run([sys.executable, "-c", "raise SystemExit(1)"], check=True)
    assert forked == []
