"""What people read when Spark fails."""

from zkconsumer.drain.on_spark.errors import reason


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
