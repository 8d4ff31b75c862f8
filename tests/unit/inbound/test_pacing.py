"""Log lines that clients can cause are logged once, then counted."""

import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.manual_clock import ManualClock
from zkconsumer.inbound.pacing import LogRateLimit, PacedLog, SuppressedLines
from zkconsumer.pace import EVERY_MS


def test_a_kind_of_line_is_logged_once_per_interval() -> None:
    """The lines suppressed meanwhile are counted, and each count is reported once."""
    limit, interval = LogRateLimit(), EVERY_MS
    times = 0, 1, interval - 1
    assert [limit.may_log("a", now_ms) for now_ms in times] == [True, False, False]
    assert limit.may_log("b", interval // 2)
    assert limit.due(interval - 1) == []
    assert limit.due(interval) == [SuppressedLines("a", 2)]
    assert not limit.may_log("a", interval + 1)
    assert limit.due(2 * interval - 1) == []
    assert limit.due(2 * interval) == [SuppressedLines("a", 1)]
    assert limit.due(3 * interval) == []
    assert limit.may_log("a", 3 * interval + 1)


@given(st.lists(st.tuples(st.text(max_size=3), st.integers(0, EVERY_MS // 20)), max_size=300))
def test_lines_are_few_whatever_their_kinds(events: list[tuple[str, int]]) -> None:
    """Per interval, each of the first kinds, and all others together, log at most two lines."""
    limit = LogRateLimit(kinds_max=5)
    now_ms, logged, suppressed = 0, 0, 0
    for kind, passed_ms in events:
        now_ms += passed_ms
        if limit.may_log(kind, now_ms):
            logged += 1
        else:
            suppressed += 1
        assert logged <= 6 * (1 + now_ms // EVERY_MS)
    assert sum(found.lines for found in limit.due(now_ms + 2 * EVERY_MS)) == suppressed


def test_a_logger_is_paced(caplog: pytest.LogCaptureFixture) -> None:
    """Warnings are grouped by their text without numbers, errors also by location; infos pass."""
    clock = ManualClock()
    paced = PacedLog(clock)
    logger = logging.getLogger("tests.paced")
    logger.addFilter(paced)
    try:
        with caplog.at_level(logging.INFO):
            for number in range(5):
                logger.warning(f"fd {number} is bad\nmore")  # noqa: G004 - as asyncio does
                logger.info("news")
                for fail in (_log_failure, _log_another):
                    fail(logger)
            assert [
                record.getMessage() for record in caplog.records if record.levelno > logging.INFO
            ] == [
                "fd 0 is bad\nmore",
                "failed",
                "failed",
            ]
            assert caplog.text.count("news") == 5
            caplog.clear()
            clock.advance(EVERY_MS)
            paced.flush()
            reported = [record.getMessage() for record in caplog.records]
            assert reported[0] == "fd # is bad: 4 more of these"
            assert len(reported) == 3
            assert reported[1].startswith("failed: ValueError at _log_failure:")
    finally:
        logger.removeFilter(paced)


def _log_failure(logger: logging.Logger) -> None:
    try:
        int("x")
    except ValueError:
        logger.exception("failed")


def _log_another(logger: logging.Logger) -> None:
    try:
        int("x")
    except ValueError:
        logger.exception("failed")
