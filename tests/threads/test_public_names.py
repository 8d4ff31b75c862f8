"""What ``import zkconsumer`` gives, and what it leaves until it is wanted."""

import subprocess
import sys

import pytest

import zkconsumer

WHAT_TASKS_NEED = "import zkconsumer, zkconsumer.spark.task, zkconsumer.spark.source"
LEFT = (
    *(f"zkconsumer.{name}" for name in ("connector", "consumer", "demo", "membership", "sandbox")),
    "kazoo",
)


def test_every_public_name_is_there_and_listed() -> None:
    """Each is what its own module calls so; errors may have another name besides."""
    for name in zkconsumer.__all__:
        value = getattr(zkconsumer, name)
        if name != "__version__":
            assert getattr(sys.modules[value.__module__], value.__name__) is value
    assert set(zkconsumer.__all__) <= set(dir(zkconsumer))


def test_a_name_that_is_not_ours_is_an_error() -> None:
    """As in any other module."""
    with pytest.raises(AttributeError, match="module 'zkconsumer' has no attribute 'Consumer'"):
        getattr(zkconsumer, "Consumer")  # noqa: B009 - type checkers know that it is not there


def test_a_spark_task_does_not_load_the_consumer() -> None:
    """Neither do the processes in which Spark plans: they start for every query."""
    reported = subprocess.run(
        [sys.executable, "-c", f"{WHAT_TASKS_NEED}, sys; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = [name for name in reported.stdout.split() if name.startswith(LEFT)]
    assert loaded == []


def test_a_consumer_of_brokers_does_not_load_what_is_for_zookeeper() -> None:
    """That is a third of what loading takes; nor does it need pyarrow."""
    making = "KafkaConsumer(bootstrap_timeout_ms=0).close()"
    program = f"from zkconsumer import KafkaConsumer; {making}; import sys"
    reported = subprocess.run(
        [sys.executable, "-c", f"{program}; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    unwanted = ("kazoo", "pyarrow", "zkconsumer.connector", "zkconsumer.membership.zookeeper")
    assert [name for name in reported.stdout.split() if name.startswith(unwanted)] == []
