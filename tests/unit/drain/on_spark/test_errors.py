"""What people read when Spark fails."""

import pytest
from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark.errors import PySparkException

from zkconsumer.drain.on_spark.errors import described_by_spark, reason
from zkconsumer.errors import DrainError


def test_our_own_error_is_what_is_said() -> None:
    """However many stack traces lie around it."""
    text = (
        "An error occurred while calling o9.save.\n: org.apache.spark.SparkException: Job aborted\n"
        "zkconsumer.errors.DataLost: clicks-0: [3, 5) is gone\n\tat Some.where(J.java:3)"
    )
    assert reason(text) == "clicks-0: [3, 5) is gone"


def test_else_what_spark_says_first() -> None:
    """Not that the gateway called something."""
    text = (
        "An error occurred while calling o250.save.\n: org.apache.spark.SparkException: Job failed "
        "due to stage failure: Python worker exited unexpectedly (crashed)\n\tat A.b(C.java:1)"
    )
    assert reason(text).endswith("Python worker exited unexpectedly (crashed)")
    assert reason(text).startswith("org.apache.spark")


def test_silence_is_named() -> None:
    """An empty message is no sentence."""
    assert reason("") == "Spark gave no reason"


@pytest.mark.parametrize(
    "error",
    [
        Py4JNetworkError("Answer from Java side is empty"),
        ConnectionResetError("reset"),
        # What the gateway makes of a connection that is reset amid a call, or a name's look-up.
        Py4JError("An error occurred while calling o250.save"),
        Py4JError("java does not exist in the JVM"),
    ],
)
def test_a_jvm_that_is_gone_is_named(error: Exception) -> None:
    """However the gateway finds out."""
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
def test_one_that_answers_is_not(error: Exception) -> None:
    """It would say the same again."""
    with pytest.raises(DrainError, match=r"^batch 1: no column x$"), described_by_spark("batch 1"):
        raise error
