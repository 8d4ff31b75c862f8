"""The broker that coordinates a group is killed in the middle of a rebalance."""

from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

from tests.interop.coordinated.group import CoordinatorGroup
from tests.interop.coordinated.members import all_values
from tests.support.clusters import without
from tests.support.matrix import in_matrix
from tests.support.waiting import wait_until
from zkconsumer.sandbox import Sandbox


@pytest.mark.sandbox
@in_matrix("strategy", ["range", "cooperative-sticky"], ["cooperative-sticky"])
def test_a_coordinator_killed_mid_rebalance(
    modern3: Sandbox, tmp_path: Path, strategy: str
) -> None:
    """The group recovers at another broker; every message comes, and committed ones only once."""
    with closing(CoordinatorGroup(modern3, tmp_path, strategy)) as group:
        topic = group.topic(6, replication=3)
        six = group.partitions(topic, 6)
        busy, idle = group.ours(topic), group.ours(topic)
        group.await_shared(six, 2)
        before = group.write(six, 10)
        group.await_all(before)
        group.await_committed()
        idle.send_command("idle")  # so that the rebalance waits for it
        newcomer = group.kafka_python(topic)
        wait_until(lambda: group.peek.describe().state == "PreparingRebalance", what="a rebalance")
        coordinator = group.peek.offsets.coordinator().id
        with without(modern3, coordinator):
            idle.send_command("poll")
            group.await_shared(six, 3)
            after = group.write(six, 10)
            group.await_all(after)
            group.await_committed()
            assert Counter(all_values(group.members)) == Counter(before + after)
            assert all(set(member.values) & set(after) for member in (busy, idle, newcomer))
