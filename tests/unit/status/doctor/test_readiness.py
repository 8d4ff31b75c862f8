"""What stands in the way of another release."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.sick_world import healthy
from zkconsumer.status.doctor.diagnosis import Code, Diagnosis, Severity
from zkconsumer.status.doctor.readiness import ReadinessFacts, examine_readiness, ways
from zkconsumer.status.doctor.ways import NEXT, Way
from zkconsumer.status.model import BrokersAlone, ClusterSnapshot, GroupState
from zkconsumer.status.reading.readiness import magic_of
from zkconsumer.wire.releases import Release


def found(
    snapshot: ClusterSnapshot, facts: ReadinessFacts, wanted: str = "4.0"
) -> dict[Code, Diagnosis]:
    """Return what is found, by code."""
    return {diagnosis.code: diagnosis for diagnosis in examine_readiness(snapshot, facts, wanted)}


def facts(release: Release, **more: object) -> ReadinessFacts:
    """Return what brokers of one release tell."""
    snapshot = healthy().snapshot()
    known = ReadinessFacts(
        releases={broker.broker.id: release for broker in snapshot.brokers},
        formats={topic.name: 2 for topic in snapshot.topics},
        settings={},
    )
    return replace(known, **more)  # type: ignore[arg-type]


def new_cluster() -> ClusterSnapshot:
    """A cluster that has no ZooKeeper."""
    alone = BrokersAlone(bootstrap_servers="b:9092", no_zookeeper=True)
    return replace(healthy().snapshot(), groups={}, brokers_alone=alone)


def test_an_old_cluster_has_to_be_mirrored() -> None:
    """Brokers, groups, formats and clients of 0.8 are all in the way; the steps say the order."""
    snapshot = healthy().snapshot()
    told = facts((0, 8, 2), formats={"t": 0})
    reported = found(snapshot, told)
    assert reported[Code.READY_BROKERS].severity is Severity.ERROR
    assert "broker 0: 0.8.2" in reported[Code.READY_BROKERS].evidence
    assert reported[Code.READY_ZOOKEEPER_GROUPS].severity is Severity.ERROR
    assert reported[Code.READY_MESSAGE_FORMATS].evidence == ("t: format 0",)
    assert reported[Code.READY_CLIENTS].severity is Severity.WARNING
    by_mirror, _ = ways(snapshot, told, "4.0")
    words = [step.split(":")[0].split()[0] for step in by_mirror.steps]
    assert words == ["Set", "Mirror", "Migrate", "Verify", "Switch"]


def test_3_9_is_reached_in_place() -> None:
    """From 0.8.2 on; groups in ZooKeeper are then a warning."""
    snapshot = healthy().snapshot()
    reported = found(snapshot, facts((0, 8, 2)), "3.9")
    assert reported[Code.READY_BROKERS].severity is Severity.NOTE
    assert reported[Code.READY_ZOOKEEPER_GROUPS].severity is Severity.WARNING
    assert Code.READY_CLIENTS not in reported
    in_place, _ = ways(snapshot, facts((0, 8, 2)), "3.9")
    assert in_place.way is Way.IN_PLACE
    assert "Upgrade broker by broker to 3.9" in in_place.steps[0]


@pytest.mark.parametrize("wanted", NEXT)
@pytest.mark.parametrize("known", [0, 1])
def test_a_broker_of_unknown_release_is_never_fine(wanted: str, known: int) -> None:
    """None told, or not all: nothing is said to go in place, or to be there."""
    snapshot = healthy().snapshot()
    late = {broker.broker.id: (4, 1) for broker in snapshot.brokers[:known]}
    told = replace(facts((4, 1)), releases=late)
    reported = found(snapshot, told, wanted)
    assert reported[Code.READY_NOT_SEEN].severity is Severity.WARNING
    assert Code.READY_BROKERS not in reported
    assert (Code.READY_CLIENTS in reported) is (wanted == "4.0")
    (route,) = ways(snapshot, told, wanted)
    assert route.way is Way.MIRROR
    old = replace(told, releases=dict.fromkeys(late, (2, 8)))
    if known:
        assert found(snapshot, old, wanted)[Code.READY_BROKERS].severity > Severity.NOTE
    (route,) = ways(snapshot, old, wanted)
    assert "Find out the release of broker" in route.steps[0]


def test_a_cluster_of_which_no_broker_is_known_is_not_fine() -> None:
    """That nothing is wrong with none of them says nothing."""
    snapshot = replace(new_cluster(), brokers=(), topics=())
    told = ReadinessFacts(settings={})
    for wanted in NEXT:
        assert found(snapshot, told, wanted)[Code.READY_NOT_SEEN].severity is Severity.WARNING
        assert "none of which is known" in ways(snapshot, told, wanted)[0].steps[0]


def test_a_zookeeper_is_in_the_way_of_4_even_for_late_brokers() -> None:
    """3.9 with one has to be migrated to KRaft first; without one it follows in place."""
    late = facts((3, 9))
    with_zookeeper = found(healthy().snapshot(), late)[Code.READY_BROKERS]
    assert with_zookeeper.severity is Severity.ERROR
    assert "has, or may have, a ZooKeeper" in with_zookeeper.what
    assert found(new_cluster(), late)[Code.READY_BROKERS].severity is Severity.NOTE


def test_a_cluster_that_is_there_is_ready() -> None:
    """Nothing is found of it."""
    assert found(new_cluster(), facts((4, 1))) == {}
    assert ways(new_cluster(), facts((4, 1)), "4.0") == ()


def test_settings_that_are_gone_are_named_with_what_replaces_them() -> None:
    """Those of topics, and of the file that was given."""
    snapshot = new_cluster()
    topic = replace(snapshot.topics[0], config={"message.format.version": "0.9.0"})
    given_ = {"zookeeper.connect": "zk", "port": "9092", "log.dirs": "/d"}
    for wanted, names in (("4.0", ("port", "zookeeper.connect")), ("3.9", ("port",))):
        reported = examine_readiness(
            replace(snapshot, topics=(topic,)), facts((3, 5), settings=given_), wanted
        )
        lines = [
            diagnosis.evidence for diagnosis in reported if diagnosis.code is Code.READY_SETTINGS
        ]
        assert lines[0] == (
            f"{topic.name}: message.format.version=0.9.0: 3.9 ignores it, 4.0 has no such setting",
        )
        assert tuple(line.split(":")[0] for line in lines[1]) == names


def test_a_setting_of_topics_that_3_9_goes_by_is_in_the_way_of_4_alone() -> None:
    """It is deprecated there, no more."""
    snapshot = new_cluster()
    topic = replace(snapshot.topics[0], config={"message.timestamp.difference.max.ms": "5"})
    for wanted, is_named in (("4.0", True), ("3.9", False)):
        reported = found(replace(snapshot, topics=(topic,)), facts((3, 5)), wanted)
        assert (Code.READY_SETTINGS in reported) is is_named


def test_abandoned_groups_are_not_in_the_way() -> None:
    """They are named, so that nobody starts them again."""
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
def test_what_was_not_seen_is_never_well(
    releases: dict[int, Release], formats: bool, wanted: str
) -> None:
    """A broker or a topic of which nothing was told is a warning."""
    snapshot = new_cluster()
    told = replace(facts((4, 1)), releases=releases)
    told = told if formats else replace(told, formats={})
    reported = found(snapshot, told, wanted)
    is_unseen = not {broker.broker.id for broker in snapshot.brokers} <= releases.keys()
    seen = reported.get(Code.READY_NOT_SEEN)
    assert (seen is not None and seen.severity is Severity.WARNING) is (is_unseen or not formats)


def test_the_format_stands_at_one_place_in_all_formats() -> None:
    """After offset, size, and checksum or leader epoch."""
    assert magic_of(bytes(16) + b"\x01" + bytes(10)) == 1
    assert magic_of(bytes(16)) is None
