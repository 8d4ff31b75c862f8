"""Text of others in our log neither controls the terminal nor looks like another line."""

import logging
import sys

from zkconsumer.cli.timed_output import SafeLogFormatter
from zkconsumer.model import Broker, TopicPartition

HOSTILE = "\x1b[2J\x1b]0;owned\x07host\nzkconsumer: all is well\r"
SAFE = r"\x1b[2J\x1b]0;owned\x07host\nzkconsumer: all is well\r"


def line(message: str, *arguments: object, exc_info: bool = False) -> str:
    """Return a log line as it is printed."""
    record = logging.LogRecord(
        *("name", logging.WARNING, "file.py", 1, message, arguments),
        sys.exc_info() if exc_info else None,
    )
    return SafeLogFormatter("zkconsumer: %(message)s").format(record)


def test_a_message_is_one_line() -> None:
    """Control characters in names are escaped; printable ones are left as they are."""
    assert line("%s is größer", HOSTILE) == f"zkconsumer: {SAFE} is größer"


def test_a_traceback_keeps_its_lines() -> None:
    """Only the traceback has several lines; the text of the error itself is escaped."""
    text = ""
    try:
        int("\x1b[31mred")
    except ValueError:
        text = line("failed", exc_info=True)
    assert text.startswith("zkconsumer: failed\nTraceback (most recent call last):\n")
    assert text.splitlines()[-1].startswith("ValueError: invalid literal")
    assert "\x1b" not in text


def test_values_print_themselves_safely() -> None:
    """Their text is escaped in any log, also in that of an embedding program."""
    assert str(Broker(1, HOSTILE, 9092)) == f"broker 1 ({SAFE}:9092)"
    assert f"{TopicPartition(HOSTILE, 3)}" == f"{SAFE}-3"
