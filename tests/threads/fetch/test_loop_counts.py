"""How many partitions a loop reports, and what counts as a failed connection."""

import pytest

from tests.support.chunks import T0
from tests.support.fetch_bench import (
    FetchBench,
    claim_on,
    each_loop,
    new_queue,
    wait_for,
)
from zkconsumer.error_codes import ErrorCode
from zkconsumer.fetch.stream_partitions import StreamPartitions
from zkconsumer.wire.api import ApiKey

__all__ = ["each_loop"]

pytestmark = pytest.mark.usefixtures("each_loop")


def test_a_partition_that_is_being_accepted_is_counted() -> None:
    """The loop accepts it during the count: it must not look idle."""
    with FetchBench() as bench:
        loop = bench.loop()

        class Taking(StreamPartitions):
            def __len__(self) -> int:
                count = super().__len__()
                loop._accept()
                return count

        loop._partitions.__class__ = Taking
        loop.add(claim_on(new_queue(1)), 0)
        assert loop.partition_count() >= 1


def test_errors_of_one_partition_do_not_count_as_failures_of_the_connection() -> None:
    """An error code is a response, so the connection stays."""
    with FetchBench() as bench:
        queue = new_queue(10)
        loop = bench.run(bench.loop())
        loop.add(claim_on(queue, T0), 0)
        wait_for(lambda: bench.requested(ApiKey.FETCH), "a fetch")
        bench.cluster.move_leader(T0, None)
        wait_for(lambda: bench.lost, "the partition to come back")
        assert str(ErrorCode.NOT_LEADER_FOR_PARTITION.name) in bench.lost[0].reason
        assert loop._line.exchange.connection is not None
