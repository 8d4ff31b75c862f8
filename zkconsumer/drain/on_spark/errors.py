"""Describes errors of Spark jobs in one sentence."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark.errors import PySparkException

from zkconsumer.errors import DrainError

_OURS = re.compile(r"^(?:[\w.]+: )*zkconsumer\.[\w.]+: (.+)$", re.MULTILINE)
_SHOWN_CHARS = 2_000
_GATEWAY = "An error occurred while calling "
"""The beginning of the JVM gateway's messages, before the reason."""


@contextmanager
def described_by_spark(what: str) -> Iterator[None]:
    """Convert Spark's exceptions to a ``DrainError``."""
    try:
        yield
    except (PySparkException, Py4JError, ConnectionError) as error:
        raise DrainError(f"{what}: {reason_of(error)}") from error


def reason_of(error: Exception) -> str:
    """Return why a call to Spark's JVM failed, and what to do if the JVM has ended.

    If the connection broke during a call, the gateway names only the call.
    """
    is_broken = type(error) is Py4JError and "\n" not in str(error)
    if is_broken or isinstance(error, Py4JNetworkError | OSError):
        return f"Spark's JVM is gone ({error}): start again"
    return reason(str(error))


def reason(text: str) -> str:
    """Return our own error in a message with stack traces of two languages, else its first line.

    The last of our errors is the root cause: Spark lists causes after their effects.
    """
    ours = _OURS.findall(text)
    if ours:
        return str(ours[-1]).strip()
    message = (line.strip().removeprefix(": ") for line in text.splitlines())
    lines = [line for line in message if line and not line.startswith(_GATEWAY)]
    return (lines[0] if lines else "Spark gave no reason")[:_SHOWN_CHARS]
