"""Groups without members: abandoned, or only just stopped."""

from dataclasses import replace
from functools import partial

import pytest

from tests.support.metered import T0
from tests.support.status import group_of, member, snapshot_of
from zkconsumer.metrics.cluster import ClusterMeasures, cluster_families
from zkconsumer.metrics.text import exposition
from zkconsumer.status.burrow import BurrowStatus, evaluate_group
from zkconsumer.status.doctor.circumstances import Circumstances
from zkconsumer.status.doctor.diagnosis import Code, Severity
from zkconsumer.status.doctor.examine import examine
from zkconsumer.status.lag import group_lag
from zkconsumer.status.model import (
    CommittedOffset,
    GroupPartition,
    GroupState,
    GroupStatus,
    Storage,
)
from zkconsumer.status.series import History
from zkconsumer.status.silence import ABANDONED_AFTER_MS, with_abandonment

NOW_MS = 100_000_000
MINUTE_MS = 60_000


def left(
    committed_ms: int | None, *, storage: Storage = "zookeeper", unmoved_ms: int | None = None
) -> GroupStatus:
    """Return a group without members and with a lag of 60, as a snapshot has it now."""
    committed = CommittedOffset(40, storage, NOW_MS, committed_ms)
    partition = GroupPartition(
        T0, committed=(committed,), log_start=50, log_end=100, log_at_ms=NOW_MS
    )
    return with_abandonment(
        replace(group_of(partition), state=GroupState.EMPTY, seen_ms=NOW_MS),
        now_ms=NOW_MS,
        skew_ms=1_000,
        offsets_unchanged_since_ms=unmoved_ms,
        abandoned_after_ms=ABANDONED_AFTER_MS,
    )


def test_a_group_is_abandoned_by_the_time_of_its_last_commit() -> None:
    """A group is abandoned by the time of its last commit, corrected by ZooKeeper's skew."""
    just = NOW_MS - ABANDONED_AFTER_MS + 1_000
    assert left(just).state is GroupState.ABANDONED
    young = left(just + 1)
    assert young.state is GroupState.EMPTY
    assert young.last_commit_ms == NOW_MS - ABANDONED_AFTER_MS + 1


def test_a_group_is_abandoned_by_offsets_that_do_not_move() -> None:
    """Without commit times in Kafka a group is abandoned if its offsets have not moved for long."""
    assert left(None, storage="kafka").state is GroupState.EMPTY
    old = NOW_MS - ABANDONED_AFTER_MS
    assert left(None, storage="kafka", unmoved_ms=old + 1).state is GroupState.EMPTY
    assert left(None, storage="kafka", unmoved_ms=old).state is GroupState.ABANDONED
    assert left(1, unmoved_ms=old + 1).state is GroupState.EMPTY


@pytest.mark.parametrize(
    "state",
    [
        group_state
        for group_state in GroupState
        if group_state not in {GroupState.EMPTY, GroupState.ABANDONED}
    ],
)
def test_a_group_with_members_is_never_abandoned(state: GroupState) -> None:
    """A group with members, or one that was not read completely, is never abandoned."""
    again = partial(
        with_abandonment,
        now_ms=NOW_MS,
        skew_ms=0,
        offsets_unchanged_since_ms=None,
        abandoned_after_ms=ABANDONED_AFTER_MS,
    )
    group = replace(left(1), state=state, members=(member("g_a", {"t": 1}),))
    assert again(group).state is state
    partly = replace(left(1), state=GroupState.EMPTY, is_complete=False)
    assert again(partly).state is GroupState.EMPTY


def test_an_abandoned_group_is_a_note_with_a_command() -> None:
    """An abandoned group is a note with the command that deletes it; it explains the others."""
    snapshot = replace(snapshot_of(left(NOW_MS - 4_000 * MINUTE_MS), at_ms=NOW_MS))
    found = [
        diagnosis for diagnosis in examine(snapshot, Circumstances()) if diagnosis.group is not None
    ]
    (incident,) = found
    assert (incident.code, incident.severity) == (Code.GROUP_ABANDONED, Severity.NOTE)
    assert "Its last commit was 2 d ago." in incident.what
    assert "groups delete --zookeeper zk:2181 --kind zookeeper --group g " in incident.repair
    assert [consequence.code for consequence in incident.consequences] == [Code.OFFSET_BELOW_LOG]


def test_a_group_that_has_just_stopped_is_a_warning() -> None:
    """A group that stopped recently with a lag is a warning, and without a lag is nothing."""
    group = left(NOW_MS - 22 * MINUTE_MS + 1_000)
    snapshot = snapshot_of(group, at_ms=NOW_MS)
    found = {diagnosis.code: diagnosis for diagnosis in examine(snapshot, Circumstances())}
    stopped = found[Code.GROUP_STOPPED]
    assert stopped.severity is Severity.WARNING
    assert "60 records wait to be read" in stopped.what
    assert "Its last commit was 22 min ago." in stopped.what
    done = replace(group, partitions=(group.partitions[0]._replace(log_end=40, log_start=0),))
    assert Code.GROUP_STOPPED not in {
        diagnosis.code for diagnosis in examine(snapshot_of(done, at_ms=NOW_MS), Circumstances())
    }


def test_no_alert_fires_for_an_abandoned_group() -> None:
    """An abandoned group has no time lag and Burrow's NOTFOUND, so that no alert fires for it."""
    group = left(NOW_MS - 4_000 * MINUTE_MS)
    group = replace(group, partitions=(group.partitions[0]._replace(next_written_ms=1),))
    snapshot, history = snapshot_of(group, at_ms=NOW_MS), History()
    outcome = evaluate_group(group, history, NOW_MS)
    assert (outcome.status, outcome.partitions) == (BurrowStatus.NOTFOUND, ())
    measures = ClusterMeasures(
        snapshot=snapshot,
        lag=lambda _: group_lag(group, history, NOW_MS),
        verdict=lambda _: outcome,
        now_ms=NOW_MS,
    )
    text = exposition(cluster_families(measures)).decode()
    samples = [line for line in text.splitlines() if not line.startswith("#")]
    names = {line.partition("{")[0] for line in samples}
    assert not {name for name in names if name.endswith("lag_seconds")}
    assert "zkconsumer_group_silence_seconds" in names
    whose = 'consumergroup="g"'
    assert f'zkconsumer_group_state{{{whose},kind="zookeeper",state="abandoned"}} 1' in samples
    (records,) = [line for line in samples if line.startswith("kafka_consumergroup_lag_sum{")]
    assert records.endswith(" 60")
    (burrow,) = [line for line in samples if line.startswith("burrow_kafka_consumer_status{")]
    assert burrow.endswith(" 0")
