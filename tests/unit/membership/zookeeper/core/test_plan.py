"""Which partitions one round of a rebalance revokes, releases and claims."""

from hypothesis import given
from hypothesis import strategies as st

from zkconsumer.membership.zookeeper.core.plan import Ownership, RebalancePlan, plan_round
from zkconsumer.model import ConsumerThreadId, TopicPartition

MINE = [ConsumerThreadId("g_me", number) for number in range(3)]


def owned(**threads: int) -> dict[TopicPartition, ConsumerThreadId]:
    """Return an ownership of topic t by thread number, such as ``owned(p0=1)``."""
    return {TopicPartition("t", int(name[1:])): MINE[number] for name, number in threads.items()}


def held(*partitions: int) -> frozenset[TopicPartition]:
    """Return these partitions of topic t."""
    return frozenset(TopicPartition("t", partition) for partition in partitions)


def plan(
    assigned: Ownership,
    *,
    started: Ownership,
    claimed: Ownership | None = None,
    nodes: frozenset[TopicPartition] | None = None,
) -> RebalancePlan:
    """Plan a round; by default everything that was started is claimed, and its nodes still ours."""
    return plan_round(
        assigned=assigned,
        claimed=started if claimed is None else claimed,
        started=started,
        held=frozenset(started) if nodes is None else nodes,
    )


def test_a_partition_that_stays_with_its_thread_is_left_alone() -> None:
    """With the same assignment again there is nothing to do."""
    assert plan(owned(p0=0, p1=1), started=owned(p0=0, p1=1)).changes_nothing


def test_a_first_assignment_is_only_taken() -> None:
    """There is nothing to revoke or release."""
    result = plan(owned(p0=0), started={})
    assert result == RebalancePlan(lost={}, give_up={}, release={}, take=owned(p0=0))


def test_a_partition_that_goes_to_another_member_is_revoked_and_released() -> None:
    """The other partitions stay claimed."""
    result = plan(owned(p0=0), started=owned(p0=0, p1=0))
    assert result == RebalancePlan(lost={}, give_up=owned(p1=0), release=owned(p1=0), take={})


def test_a_partition_that_moves_to_another_own_thread_is_released_and_taken() -> None:
    """The owner node names the stream's thread, so it has to be written again."""
    result = plan(owned(p0=1), started=owned(p0=0))
    assert result == RebalancePlan(
        lost={}, give_up=owned(p0=0), release=owned(p0=0), take=owned(p0=1)
    )


def test_a_partition_whose_node_is_gone_is_lost_and_not_revoked() -> None:
    """Its node vanished or is another's: it is stopped, but neither committed nor released."""
    result = plan({}, started=owned(p0=0), nodes=held())
    assert result == RebalancePlan(lost=owned(p0=0), give_up={}, release={}, take={})


def test_a_lost_partition_that_is_assigned_is_taken_again() -> None:
    """Its node was deleted, so it is claimed again and read from the committed offset."""
    result = plan(owned(p0=0), started=owned(p0=0), nodes=held())
    assert result == RebalancePlan(lost=owned(p0=0), give_up={}, release={}, take=owned(p0=0))


def test_a_partition_that_was_claimed_but_not_started_is_released_or_taken() -> None:
    """An earlier round failed after its claim."""
    result = plan(owned(p0=0), started={}, claimed=owned(p0=0, p1=0), nodes=held(0, 1))
    assert result == RebalancePlan(lost={}, give_up={}, release=owned(p1=0), take=owned(p0=0))


def test_a_claim_that_turns_out_to_have_failed_is_not_released() -> None:
    """The node does not exist, or is another's."""
    result = plan({}, started={}, claimed=owned(p0=0), nodes=held())
    assert result.changes_nothing


partitions = st.integers(0, 4).map(lambda number: TopicPartition("t", number))
ownerships = st.dictionaries(partitions, st.sampled_from(MINE))


@given(ownerships, ownerships, st.sets(partitions), st.sets(partitions))
def test_a_plan_leads_to_the_assignment(
    assigned: Ownership,
    claimed: Ownership,
    running: set[TopicPartition],
    existing: set[TopicPartition],
) -> None:
    """Whatever the start, exactly the assigned partitions are read, and no node is left over."""
    started = {tp: thread for tp, thread in claimed.items() if tp in running}
    nodes = {tp: thread for tp, thread in claimed.items() if tp in existing}
    result = plan_round(assigned=assigned, claimed=claimed, started=started, held=frozenset(nodes))
    reading = {
        tp: thread
        for tp, thread in started.items()
        if tp not in result.lost and tp not in result.give_up
    }
    assert set(result.release) <= set(nodes)
    assert set(result.give_up) <= set(result.release)
    for tp in result.release:
        del nodes[tp]
    assert not set(reading) & set(result.take)
    assert set(reading) <= set(nodes)
    nodes.update(result.take)
    reading.update(result.take)
    assert reading == assigned
    assert nodes == assigned
