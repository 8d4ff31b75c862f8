"""Trials: each is a forked process with a deadline, whose own processes end with it."""

import contextlib
import os
import select
import shutil
import signal
import tempfile
import time
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Generic, TypeVar

T = TypeVar("T")

_SURVIVED, _KILLED, _NOT_PUT = 0, 1, 3
_LOOK_S = 0.02


class Outcome(StrEnum):
    """The outcome of a mutant's trial."""

    KILLED = "killed"
    SURVIVED = "survived"
    TIMED_OUT = "timed out"
    NOT_PUT = "not put in place"
    UNREACHED = "reached by no test"


@dataclass(frozen=True, slots=True)
class Trial(Generic[T]):
    """One process to start.

    Attributes:
        subject: the subject of the trial.
        run: the process's function, given a folder of its own: True if no test failed.
        most_s: its deadline.
    """

    subject: T
    run: Callable[[Path], bool]
    most_s: float


class NotPut(Exception):
    """The mutant can't be applied in this way."""


def run_trials(trials: Iterable[Trial[T]], jobs: int, done: Callable[[T, Outcome], None]) -> None:
    """Run trials, at most ``jobs`` at a time, and pass each outcome to ``done``."""
    waiting = iter(trials)
    running: dict[int, tuple[Trial[T], float, Path]] = {}
    more = True
    while more or running:
        while more and len(running) < jobs:
            trial = next(waiting, None)
            more = trial is not None
            if trial is not None:
                folder = Path(tempfile.mkdtemp(prefix="zkconsumer-mutant-"))
                running[_fork(trial, folder)] = (trial, time.perf_counter() + trial.most_s, folder)
        for pid, (trial, deadline, folder) in list(running.items()):
            outcome = _look(pid, time.perf_counter() > deadline)
            if outcome is not None:
                del running[pid]
                shutil.rmtree(folder, ignore_errors=True)
                done(trial.subject, outcome)
        select.select([], [], [], _LOOK_S)


def _fork(trial: Trial[T], folder: Path) -> int:
    pid = os.fork()
    if pid:
        return pid
    status = _KILLED
    try:
        os.setsid()
        nowhere = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(nowhere, number)
        status = _SURVIVED if trial.run(folder) else _KILLED
    except NotPut:
        status = _NOT_PUT
    except BaseException:
        (folder.parent / "zkconsumer-mutant-error").write_text(traceback.format_exc())
        raise
    finally:
        os._exit(status)


def _look(pid: int, late: bool) -> Outcome | None:
    """Return the outcome of a process, or None while it runs within its deadline."""
    ended, status = os.waitpid(pid, os.WNOHANG)
    if not ended and not late:
        return None
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)  # including the processes that it started
    if not ended:
        os.waitpid(pid, 0)
        return Outcome.TIMED_OUT
    codes = {_SURVIVED: Outcome.SURVIVED, _NOT_PUT: Outcome.NOT_PUT}
    return codes.get(os.waitstatus_to_exitcode(status), Outcome.KILLED)
