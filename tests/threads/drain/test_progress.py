"""A drain's progress is shown on a terminal, and nowhere else unless a program asks for it."""

import io
import json
import os

import pytest

from tests.fakes.fake_terminal import FakeTerminal
from tests.support.manual_clock import ManualClock
from zkconsumer.drain import progress
from zkconsumer.drain.manifest import Manifest
from zkconsumer.drain.plan import BatchPlan
from zkconsumer.drain.progress import JsonProgress, shown
from zkconsumer.drain.protocols import ProgressListener
from zkconsumer.drain.runner import DrainReport
from zkconsumer.model import OffsetRange, TopicPartition

TP = TopicPartition("t", 0)
RANGE = OffsetRange(topic_partition=TP, from_offset=0, until_offset=4_000)
PLAN = BatchPlan(number=1, created_ms=0, positions={TP: 0}, starts={TP: 0}, ranges=(RANGE,))
MANIFEST = Manifest(number=1, attempt="a", landed_ms=0)


def drained(listener: ProgressListener) -> None:
    """Report the progress of one batch of two."""
    listener.on_snapshot({TP: 0}, {TP: 10_000})
    listener.on_landing(PLAN)
    listener.on_landed(PLAN, MANIFEST)


def test_a_bar_shows_rate_and_lag() -> None:
    """Its last update has what was landed, the rate, and what is left."""
    terminal = FakeTerminal()
    with shown(terminal) as listener:
        drained(listener)
    message = terminal.getvalue()
    assert "batch 1" in message
    assert "4,000 landed" in message
    assert "lag 6,000" in message


def test_without_rich_each_batch_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has the same figures in plain text."""
    monkeypatch.setattr(progress, "find_spec", lambda _name: None)
    terminal = FakeTerminal()
    with shown(terminal) as listener:
        drained(listener)
    assert terminal.getvalue().startswith("batch 1: 0 messages; 4,000 landed, ")
    assert "lag 6,000" in terminal.getvalue()


def test_a_log_file_gets_nothing() -> None:
    """Progress bars are for terminals only."""
    with shown(io.StringIO()) as listener:
        assert type(listener) is ProgressListener


def test_a_program_gets_json_lines() -> None:
    """There is one for each snapshot, for each batch, and for the whole run."""
    reading, writing = os.pipe()
    with io.FileIO(writing, "w") as out:
        lines = JsonProgress(out, ManualClock())
        drained(lines)
        lines.ended("/lake", DrainReport(batches=1, rows=7, expired=(RANGE,), finished=True))
    with open(reading, encoding="utf-8") as output:
        snapshot, batch, end = (json.loads(output.readline()) for _ in range(3))
    assert snapshot == {"ended": False, "landed": 0, "lag": 10_000, "running_ms": 0}
    assert batch == {**snapshot, "landed": 4_000, "lag": 6_000, "batch": 1, "rows": 0}
    assert end == {
        "ended": True,
        "path": "/lake",
        "finished": True,
        "batches": 1,
        "rows": 7,
        "dead_lettered": 0,
        "expired": 4_000,
    }


def test_no_lag_is_shown_before_the_first_snapshot() -> None:
    """A run first finishes the batch of a killed one: an unknown lag is not a lag of 0."""
    reading, writing = os.pipe()
    with io.FileIO(writing, "w") as out:
        JsonProgress(out, ManualClock()).on_landed(PLAN, MANIFEST)
    with open(reading, encoding="utf-8") as output:
        batch = json.loads(output.read())
    assert batch == {"ended": False, "landed": 4_000, "running_ms": 0, "batch": 1, "rows": 0}
    terminal = FakeTerminal()
    with shown(terminal) as listener:
        listener.on_landed(PLAN, MANIFEST)
    assert "4,000 landed" in terminal.getvalue()
    assert "lag" not in terminal.getvalue()


def test_a_program_that_goes_away_does_not_end_the_drain() -> None:
    """Lines that can't be written are dropped."""
    reading, writing = os.pipe()
    os.close(reading)
    with io.FileIO(writing, "w") as out:
        drained(JsonProgress(out))
