"""A mirror's target when Spark's JVM has died, tested without a JVM."""

from types import SimpleNamespace
from typing import Any, cast

import pytest
from py4j.protocol import Py4JNetworkError
from pyspark.sql import SparkSession

from zkconsumer.drain.mirroring.target import TargetCluster
from zkconsumer.errors import DrainError
from zkconsumer.model import TopicPartition

SERVERS = {"kafka.bootstrap.servers": "h:9092"}


class _GatewayKilledAfter:
    """A JVM that is killed after some calls."""

    def __init__(self, calls: int, error: Exception) -> None:
        self._calls = calls
        self._error = error

    def __getattr__(self, _name: str) -> Any:
        return self

    def __call__(self, *_: object) -> Any:
        if not self._calls:
            raise self._error
        self._calls -= 1
        return self


@pytest.mark.parametrize("calls", range(8))
@pytest.mark.parametrize("error", [ConnectionRefusedError("refused"), Py4JNetworkError("refused")])
def test_a_jvm_that_is_gone_is_named(calls: int, error: Exception) -> None:
    """The error says so, rather than that the Kafka connector is missing."""
    session = cast("SparkSession", SimpleNamespace(_jvm=_GatewayKilledAfter(calls, error)))
    with pytest.raises(DrainError, match=r"h:9092.*: Spark's JVM is gone \(refused\): start again"):
        TargetCluster(session, SERVERS).ends([TopicPartition("t", 0)])
