"""The reasons that are shown when Spark fails."""

import pytest
from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark.errors import PySparkException

from zkconsumer.drain.on_spark.errors import described_by_spark, reason
from zkconsumer.errors import DrainError


def test_our_own_error_is_shown() -> None:
    """It is found among any stack traces around it."""
    text = (
        "An error occurred while calling o9.save.\n: org.apache.spark.SparkException: Job aborted\n"
        "zkconsumer.errors.DataLost: clicks-0: [3, 5) is gone\n\tat Some.where(J.java:3)"
    )
    assert reason(text) == "clicks-0: [3, 5) is gone"


def test_without_our_error_spark_s_first_message_is_shown() -> None:
    """The gateway's line about the failed call is left out."""
    text = (
        "An error occurred while calling o250.save.\n: org.apache.spark.SparkException: Job failed "
        "due to stage failure: Python worker exited unexpectedly (crashed)\n\tat A.b(C.java:1)"
    )
    assert reason(text).endswith("Python worker exited unexpectedly (crashed)")
    assert reason(text).startswith("org.apache.spark")


def test_an_empty_message_is_replaced() -> None:
    """An error without a message says that Spark gave no reason."""
    assert reason("") == "Spark gave no reason"


@pytest.mark.parametrize(
    "error",
    [
        Py4JNetworkError("Answer from Java side is empty"),
        ConnectionResetError("reset"),
        # Raised by the gateway if the connection is reset during a call or a name lookup.
        Py4JError("An error occurred while calling o250.save"),
        Py4JError("java does not exist in the JVM"),
    ],
)
def test_a_jvm_that_is_gone_is_named(error: Exception) -> None:
    """Every error that a dead JVM causes says so and advises a restart."""
    with (
        pytest.raises(DrainError, match=r"^batch 1: Spark's JVM is gone \(.*\): start again$"),
        described_by_spark("batch 1"),
    ):
        raise error


@pytest.mark.parametrize(
    "error",
    [
        PySparkException("no column x"),
        Py4JError("An error occurred while calling o1.opt. Trace:\nno column x\n\tat y"),
    ],
)
def test_a_jvm_that_responds_is_not_reported_as_gone(error: Exception) -> None:
    """A restart would only repeat the error."""
    with pytest.raises(DrainError, match=r"^batch 1: no column x$"), described_by_spark("batch 1"):
        raise error
