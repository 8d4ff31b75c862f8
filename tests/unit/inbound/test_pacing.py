"""Log lines that clients can cause are logged once, then counted."""

import logging

import pytest

from tests.support.manual_clock import ManualClock
from zkconsumer.inbound.pacing import KINDS_MAX, PacedLog
from zkconsumer.pace import EVERY_MS


def test_a_kind_of_line_is_logged_once_per_interval(caplog: pytest.LogCaptureFixture) -> None:
    """The lines suppressed meanwhile are counted, and each count is reported once."""
    clock = ManualClock()
    paced = PacedLog(clock)

    def logged_at(now_ms: int, *kinds: str) -> list[str]:
        clock.advance(now_ms - clock.now_ms())
        caplog.clear()
        for kind in kinds:
            paced.warning(kind, "%s happened", kind)
        paced.flush()
        return [record.getMessage() for record in caplog.records]

    begin_ms = clock.now_ms()
    assert logged_at(begin_ms, "a", "a") == ["a happened"]
    assert logged_at(begin_ms + 1, "a", "b") == ["b happened"]
    assert logged_at(begin_ms + EVERY_MS - 1) == []
    assert logged_at(begin_ms + EVERY_MS) == ["a: 2 more of these"]
    assert logged_at(begin_ms + EVERY_MS + 50, "a") == []
    assert logged_at(begin_ms + 2 * EVERY_MS - 1) == []
    assert logged_at(begin_ms + 2 * EVERY_MS) == ["a: 1 more of these"]
    assert logged_at(begin_ms + 3 * EVERY_MS) == []
    assert logged_at(begin_ms + 3 * EVERY_MS + 1, "a") == ["a happened"]


def test_lines_are_few_whatever_their_kinds(caplog: pytest.LogCaptureFixture) -> None:
    """Per interval, each of the first kinds, and all others together, log one line."""
    clock = ManualClock()
    paced = PacedLog(clock)
    for number in range(3 * KINDS_MAX):
        paced.warning(f"kind {number}", "it happened")
    assert len(caplog.records) == KINDS_MAX + 1
    caplog.clear()
    clock.advance(EVERY_MS)
    paced.flush()
    assert caplog.messages == [f"other lines like these: {2 * KINDS_MAX - 1} more of these"]


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
