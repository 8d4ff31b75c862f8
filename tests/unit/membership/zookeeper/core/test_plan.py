"""What one round of a rebalance changes."""

from hypothesis import given
from hypothesis import strategies as st

from zkconsumer.membership.zookeeper.core.plan import Ownership, RebalancePlan, plan_round
from zkconsumer.model import ConsumerThreadId, TopicPartition

MINE = [ConsumerThreadId("g_me", number) for number in range(3)]


def owned(**threads: int) -> dict[TopicPartition, ConsumerThreadId]:
    """Partitions of topic t by thread number: ``owned(p0=1)``."""
    return {TopicPartition("t", int(name[1:])): MINE[number] for name, number in threads.items()}


def held(*partitions: int) -> frozenset[TopicPartition]:
    """These partitions of topic t."""
    return frozenset(TopicPartition("t", partition) for partition in partitions)


def plan(
    assigned: Ownership,
    *,
    started: Ownership,
    claimed: Ownership | None = None,
    still: frozenset[TopicPartition] | None = None,
) -> RebalancePlan:
    """Plan where everything started is claimed and still held, unless said otherwise."""
    return plan_round(
        assigned=assigned,
        claimed=started if claimed is None else claimed,
        started=started,
        held=frozenset(started) if still is None else still,
    )


def test_what_stays_with_its_thread_is_left_alone() -> None:
    """The same share again: nothing to do."""
    assert plan(owned(p0=0, p1=1), started=owned(p0=0, p1=1)).changes_nothing


def test_a_first_share_is_only_taken() -> None:
    """Nothing to stop or release."""
    result = plan(owned(p0=0), started={})
    assert result == RebalancePlan(lost={}, give_up={}, release={}, take=owned(p0=0))


def test_what_goes_to_others_is_given_up_and_released() -> None:
    """The other partitions stay claimed."""
    result = plan(owned(p0=0), started=owned(p0=0, p1=0))
    assert result == RebalancePlan(lost={}, give_up=owned(p1=0), release=owned(p1=0), take={})


def test_what_moves_between_own_threads_is_released_and_taken_anew() -> None:
    """Another stream reads it: its node says so."""
    result = plan(owned(p0=1), started=owned(p0=0))
    assert result == RebalancePlan(
        lost={}, give_up=owned(p0=0), release=owned(p0=0), take=owned(p0=1)
    )


def test_what_is_no_longer_ours_is_lost_not_given_up() -> None:
    """A node that vanished or is another's: stop, commit nothing, delete nothing."""
    result = plan({}, started=owned(p0=0), still=held())
    assert result == RebalancePlan(lost=owned(p0=0), give_up={}, release={}, take={})


def test_what_was_lost_but_is_assigned_is_taken_again() -> None:
    """Somebody deleted our node: claim it anew, from the committed offset."""
    result = plan(owned(p0=0), started=owned(p0=0), still=held())
    assert result == RebalancePlan(lost=owned(p0=0), give_up={}, release={}, take=owned(p0=0))


def test_what_was_claimed_but_never_started_is_released_or_taken() -> None:
    """Left by a round that failed behind its claim."""
    result = plan(owned(p0=0), started={}, claimed=owned(p0=0, p1=0), still=held(0, 1))
    assert result == RebalancePlan(lost={}, give_up={}, release=owned(p1=0), take=owned(p0=0))


def test_a_claim_of_unknown_outcome_that_did_not_happen_is_not_released() -> None:
    """Its node is not there, or is another's."""
    result = plan({}, started={}, claimed=owned(p0=0), still=held())
    assert result.changes_nothing


partitions = st.integers(0, 4).map(lambda number: TopicPartition("t", number))
ownerships = st.dictionaries(partitions, st.sampled_from(MINE))


@given(ownerships, ownerships, st.sets(partitions), st.sets(partitions))
def test_a_plan_leads_from_what_is_to_what_should_be(
    assigned: Ownership,
    claimed: Ownership,
    running: set[TopicPartition],
    there: set[TopicPartition],
) -> None:
    """Whatever the start, step by step: exactly the assigned is read, and nothing left over."""
    started = {tp: thread for tp, thread in claimed.items() if tp in running}
    nodes = {tp: thread for tp, thread in claimed.items() if tp in there}
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
