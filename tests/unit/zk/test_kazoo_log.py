"""What kazoo logs of a connection that breaks again and again."""

import logging

import pytest

from tests.support.manual_clock import ManualClock
from zkconsumer.zk.kazoo_log import NAME, WarningPace, paced_logger


def test_a_warning_that_repeats_is_logged_once_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    """Between them it is there for debugging; errors and other warnings are not affected."""
    clock = ManualClock()
    logger = logging.getLogger(f"{NAME}.test")
    logger.addFilter(WarningPace(clock))
    for number in range(601):
        logger.warning("Connection dropped: %s", number)
        clock.advance(100)
    logger.warning("Session has expired")
    logger.error("an error")
    logger.error("an error")
    assert caplog.messages == [
        "Connection dropped: 0",
        "Connection dropped: 600 (599 more in the last 60 s)",
        "Session has expired",
        *["an error"] * 2,
    ]


@pytest.mark.parametrize("level", [logging.DEBUG, logging.WARNING])
def test_clients_share_a_logger_below_kazoos(caplog: pytest.LogCaptureFixture, level: int) -> None:
    """Whoever sets the level of ``kazoo`` sets that of ours."""
    logger, kind = paced_logger(), f"of level {level}"  # each test its own: clients share the pace
    assert paced_logger() is logger
    assert len(logger.filters) == 1
    with caplog.at_level(level, "kazoo"):
        for _ in range(3):
            logger.warning(kind)
    levels = [record.levelno for record in caplog.records]
    assert levels == [logging.WARNING, *[logging.DEBUG] * 2 * (level == logging.DEBUG)]
