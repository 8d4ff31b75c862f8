"""How ranges are requested from Spark, tested without Spark."""

from typing import Any, Self, cast

import pytest
from pyspark.sql import SparkSession

from zkconsumer.drain.on_spark.rows import SparkRangeRows
from zkconsumer.model import OffsetRange, TopicPartition

WANTED = OffsetRange(
    topic_partition=TopicPartition("clicks", 0), from_offset=5, until_offset=5_000_000
)
DIVIDING = {"minPartitions": "7", "MAXRECORDSPERPARTITION": "1000", "kafka.client.id": "d"}


class RecordingSession:
    """A Spark session, its reader and its context in one, which records the options."""

    defaultParallelism = 2  # noqa: N815 - Spark's

    def __init__(self) -> None:
        self.requested: dict[str, str] = {}

    def __getattr__(self, name: str) -> Any:
        assert name in {"read", "sparkContext"}
        return self

    def format(self, _name: str) -> Self:
        """See ``DataFrameReader``."""
        return self

    def option(self, name: str, value: str) -> Self:
        """Set one option; names differ by more than case."""
        return self.options(**{name: value})

    def options(self, **options: object) -> Self:
        """See ``DataFrameReader``."""
        self.requested |= {name.lower(): str(value) for name, value in options.items()}
        return self

    def load(self) -> None:
        """Read nothing."""


@pytest.mark.parametrize("divided", [True, False])
def test_a_range_read_in_order_is_not_divided(*, divided: bool) -> None:
    """Options that divide ranges among tasks apply only where the order does not matter."""
    session = RecordingSession()
    rows = SparkRangeRows(cast("SparkSession", session), DIVIDING)
    rows.read([WANTED], divided=divided)
    assert session.requested["startingoffsets"] == '{"clicks": {"0": 5}}'
    assert session.requested["kafka.client.id"] == "d"
    dividing = {
        name: session.requested.get(name) for name in ("minpartitions", "maxrecordsperpartition")
    }
    assert dividing == (
        {"minpartitions": "7", "maxrecordsperpartition": "1000"}
        if divided
        else {"minpartitions": None, "maxrecordsperpartition": None}
    )
