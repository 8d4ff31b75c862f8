"""The tasks of a batch query, planned on the driver."""

import logging
from collections.abc import Sequence
from contextlib import ExitStack

from zkconsumer.spark.cluster_reader import ClusterReader
from zkconsumer.spark.filters import Condition, select
from zkconsumer.spark.group_progress import progress_of
from zkconsumer.spark.input_partition import ZkInputPartition
from zkconsumer.spark.options import SourceOptions
from zkconsumer.spark.planning import batch_ranges, input_partitions

log = logging.getLogger(__name__)


def batch_tasks(
    options: SourceOptions, conditions: Sequence[Condition] = ()
) -> list[ZkInputPartition]:
    """Plan the tasks of a batch query.

    Args:
        options: those of a batch query.
        conditions: what its filters say of what is read.

    Raises:
        ConfigError: an option asks for what the cluster does not have.
        OffsetsLost: some of it is gone, and ``failOnDataLoss`` is true.
        ZkConsumerError: the cluster can't be asked.
    """
    for note in options.notes:
        log.warning("%s", note)
    with ExitStack() as stack:
        cluster = stack.enter_context(ClusterReader.of(options))
        progress = progress_of(options, cluster)
        if progress is not None:
            stack.callback(progress.close)
        ranges = batch_ranges(options, cluster, None if progress is None else progress.committed)
        return input_partitions(options, cluster, select(ranges, conditions))
