"""What has to change before a cluster can be upgraded to a given release."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.diagnosed_cluster import healthy
from zkconsumer.status.doctor.diagnosis import Code, Diagnosis, Severity
from zkconsumer.status.doctor.readiness import ReadinessFacts, examine_readiness, paths_for
from zkconsumer.status.doctor.upgrade_paths import NEXT, UpgradeMethod
from zkconsumer.status.model import BrokersAlone, ClusterSnapshot, GroupState
from zkconsumer.status.reading.readiness import magic_of
from zkconsumer.wire.releases import Release


def found(
    snapshot: ClusterSnapshot, facts: ReadinessFacts, wanted: str = "4.0"
) -> dict[Code, Diagnosis]:
    """Return what is found, by code."""
    return {diagnosis.code: diagnosis for diagnosis in examine_readiness(snapshot, facts, wanted)}


def facts(release: Release, **more: object) -> ReadinessFacts:
    """Return the facts about brokers that all are of one release."""
    snapshot = healthy().snapshot()
    known = ReadinessFacts(
        releases={broker.broker.id: release for broker in snapshot.brokers},
        formats={topic.name: 2 for topic in snapshot.topics},
        settings={},
    )
    return replace(known, **more)  # type: ignore[arg-type]


def new_cluster() -> ClusterSnapshot:
    """Return a cluster without a ZooKeeper."""
    alone = BrokersAlone(bootstrap_servers="b:9092", no_zookeeper=True)
    return replace(healthy().snapshot(), groups={}, brokers_alone=alone)


def test_a_cluster_of_0_8_has_to_be_mirrored() -> None:
    """From 0.8 to 4.0 brokers, groups, formats and clients are obstacles, and a mirror helps."""
    snapshot = healthy().snapshot()
    known_facts = facts((0, 8, 2), formats={"t": 0})
    reported = found(snapshot, known_facts)
    assert reported[Code.READY_BROKERS].severity is Severity.ERROR
    assert "broker 0: 0.8.2" in reported[Code.READY_BROKERS].evidence
    assert reported[Code.READY_ZOOKEEPER_GROUPS].severity is Severity.ERROR
    assert reported[Code.READY_MESSAGE_FORMATS].evidence == ("t: format 0",)
    assert reported[Code.READY_CLIENTS].severity is Severity.WARNING
    by_mirror, _ = paths_for(snapshot, known_facts, "4.0")
    first_words = [step.split(":")[0].split()[0] for step in by_mirror.steps]
    assert first_words == ["Set", "Mirror", "Migrate", "Verify", "Switch"]


def test_3_9_is_reached_in_place() -> None:
    """3.9 is reached in place from 0.8.2 on, with a warning about groups in ZooKeeper."""
    snapshot = healthy().snapshot()
    reported = found(snapshot, facts((0, 8, 2)), "3.9")
    assert reported[Code.READY_BROKERS].severity is Severity.NOTE
    assert reported[Code.READY_ZOOKEEPER_GROUPS].severity is Severity.WARNING
    assert Code.READY_CLIENTS not in reported
    in_place, _ = paths_for(snapshot, facts((0, 8, 2)), "3.9")
    assert in_place.method is UpgradeMethod.IN_PLACE
    assert "Upgrade broker by broker to 3.9" in in_place.steps[0]


@pytest.mark.parametrize("wanted", NEXT)
@pytest.mark.parametrize("known", [0, 1])
def test_a_broker_of_unknown_release_is_a_warning(wanted: str, known: int) -> None:
    """If any broker's release is unknown, it is a warning, and no upgrade in place is proposed."""
    snapshot = healthy().snapshot()
    late = {broker.broker.id: (4, 1) for broker in snapshot.brokers[:known]}
    known_facts = replace(facts((4, 1)), releases=late)
    reported = found(snapshot, known_facts, wanted)
    assert reported[Code.READY_NOT_SEEN].severity is Severity.WARNING
    assert Code.READY_BROKERS not in reported
    assert (Code.READY_CLIENTS in reported) is (wanted == "4.0")
    (path,) = paths_for(snapshot, known_facts, wanted)
    assert path.method is UpgradeMethod.MIRROR
    old = replace(known_facts, releases=dict.fromkeys(late, (2, 8)))
    if known:
        assert found(snapshot, old, wanted)[Code.READY_BROKERS].severity > Severity.NOTE
    (path,) = paths_for(snapshot, old, wanted)
    assert "Find out the release of broker" in path.steps[0]


def test_a_cluster_without_known_brokers_is_not_ready() -> None:
    """A cluster without known brokers is a warning, not ready."""
    snapshot = replace(new_cluster(), brokers=(), topics=())
    known_facts = ReadinessFacts(settings={})
    for wanted in NEXT:
        assert (
            found(snapshot, known_facts, wanted)[Code.READY_NOT_SEEN].severity is Severity.WARNING
        )
        assert "none of which is known" in paths_for(snapshot, known_facts, wanted)[0].steps[0]


def test_a_zookeeper_is_an_obstacle_to_4_even_for_late_brokers() -> None:
    """4.0 needs KRaft: 3.9 with a ZooKeeper is an error, and 3.9 without one is a note."""
    late = facts((3, 9))
    with_zookeeper = found(healthy().snapshot(), late)[Code.READY_BROKERS]
    assert with_zookeeper.severity is Severity.ERROR
    assert "has, or may have, a ZooKeeper" in with_zookeeper.what
    assert found(new_cluster(), late)[Code.READY_BROKERS].severity is Severity.NOTE


def test_a_cluster_of_the_release_is_ready() -> None:
    """A cluster that has the release already has no findings and no path."""
    assert found(new_cluster(), facts((4, 1))) == {}
    assert paths_for(new_cluster(), facts((4, 1)), "4.0") == ()


def test_removed_settings_are_named_with_their_replacement() -> None:
    """Settings that the release lacks are named with their replacement, of topics and of a file."""
    snapshot = new_cluster()
    topic = replace(snapshot.topics[0], config={"message.format.version": "0.9.0"})
    broker_settings = {"zookeeper.connect": "zk", "port": "9092", "log.dirs": "/d"}
    for wanted, names in (("4.0", ("port", "zookeeper.connect")), ("3.9", ("port",))):
        reported = examine_readiness(
            replace(snapshot, topics=(topic,)), facts((3, 5), settings=broker_settings), wanted
        )
        lines = [
            diagnosis.evidence for diagnosis in reported if diagnosis.code is Code.READY_SETTINGS
        ]
        assert lines[0] == (
            f"{topic.name}: message.format.version=0.9.0: 3.9 ignores it, 4.0 has no such setting",
        )
        assert tuple(line.split(":")[0] for line in lines[1]) == names


def test_a_topic_setting_that_3_9_deprecates_is_an_obstacle_to_4_alone() -> None:
    """A topic setting that 3.9 only deprecates is an obstacle to 4.0 alone."""
    snapshot = new_cluster()
    topic = replace(snapshot.topics[0], config={"message.timestamp.difference.max.ms": "5"})
    for wanted, is_named in (("4.0", True), ("3.9", False)):
        reported = found(replace(snapshot, topics=(topic,)), facts((3, 5)), wanted)
        assert (Code.READY_SETTINGS in reported) is is_named


def test_abandoned_groups_are_no_obstacle() -> None:
    """Abandoned groups are no obstacle, but are named, so that they are not started again."""
    snapshot = healthy().snapshot()
    groups = {
        key: replace(group, state=GroupState.ABANDONED) for key, group in snapshot.groups.items()
    }
    reported = found(replace(snapshot, groups=groups), facts((0, 8, 2)))
    assert Code.READY_ZOOKEEPER_GROUPS not in reported
    assert reported[Code.READY_ABANDONED_GROUPS].severity is Severity.NOTE


@given(
    st.dictionaries(st.integers(0, 3), st.sampled_from([(0, 8, 2), (2, 8), (3, 5), (4, 1)])),
    st.booleans(),
    st.sampled_from(sorted(NEXT)),
)
def test_what_was_not_seen_is_a_warning(
    releases: dict[int, Release], formats: bool, wanted: str
) -> None:
    """A broker without a known release, or a topic without a known format, is a warning."""
    snapshot = new_cluster()
    known_facts = replace(facts((4, 1)), releases=releases)
    known_facts = known_facts if formats else replace(known_facts, formats={})
    reported = found(snapshot, known_facts, wanted)
    is_unseen = not {broker.broker.id for broker in snapshot.brokers} <= releases.keys()
    seen = reported.get(Code.READY_NOT_SEEN)
    assert (seen is not None and seen.severity is Severity.WARNING) is (is_unseen or not formats)


def test_the_magic_byte_has_one_position_in_all_formats() -> None:
    """All record formats have the magic byte at the same position."""
    assert magic_of(bytes(16) + b"\x01" + bytes(10)) == 1
    assert magic_of(bytes(16)) is None
