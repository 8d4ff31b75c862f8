"""What ``import zkconsumer`` provides, and what it loads only when it is used."""

import subprocess
import sys

import pytest

import zkconsumer

IMPORTS_OF_TASKS = "import zkconsumer, zkconsumer.spark.task, zkconsumer.spark.source"
NOT_LOADED = (
    *(f"zkconsumer.{name}" for name in ("connector", "consumer", "demo", "membership", "sandbox")),
    "kazoo",
)


def test_every_public_name_exists_and_is_listed() -> None:
    """Each is the same object in its own module; errors may have a second name."""
    for name in zkconsumer.__all__:
        value = getattr(zkconsumer, name)
        if name != "__version__":
            assert getattr(sys.modules[value.__module__], value.__name__) is value
    assert set(zkconsumer.__all__) <= set(dir(zkconsumer))


def test_a_name_that_is_not_ours_is_an_error() -> None:
    """It is AttributeError, as in any module."""
    with pytest.raises(AttributeError, match="module 'zkconsumer' has no attribute 'Consumer'"):
        getattr(zkconsumer, "Consumer")  # noqa: B009 - type checkers know that it does not exist


def test_a_spark_task_does_not_load_the_consumer() -> None:
    """Nor do Spark's planning processes, which start for every query."""
    reported = subprocess.run(
        [sys.executable, "-c", f"{IMPORTS_OF_TASKS}, sys; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = [name for name in reported.stdout.split() if name.startswith(NOT_LOADED)]
    assert loaded == []


def test_a_consumer_of_brokers_does_not_load_zookeeper_modules() -> None:
    """Those modules would take a third of the import time. It does not need pyarrow, either."""
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
