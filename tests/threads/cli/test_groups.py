"""``zkconsumer groups`` on a cluster in memory."""

import json
from collections.abc import Iterator

import pytest

from tests.support.opened_cluster import opening
from tests.support.scripted_broker import Answer, ScriptedAction, ScriptedResponse, old
from tests.support.scripted_groups import ScriptedGroup
from tests.support.status_world import MEMBER, T0, StatusWorld
from tests.threads.cli.conftest import PrintedLines
from zkconsumer.cli.groups import command as groups
from zkconsumer.cli.main import main
from zkconsumer.error_codes import ErrorCode
from zkconsumer.status.reading.coordinators import OFFSETS_TOPIC
from zkconsumer.wire.codec import RequestFrame
from zkconsumer.wire.messages.group_admin import (
    DeletedGroup,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
)
from zkconsumer.wire.versions import BrokerGeneration


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> Iterator[StatusWorld]:
    """A ZooKeeper group ``g`` with a member, and one, ``c``, at a coordinator."""
    world = StatusWorld()
    world.zookeeper_group()
    world.topic(OFFSETS_TOPIC)
    world.groups["c"] = ScriptedGroup(1, members={"m": {"t": (0, 1)}}, offsets={T0: 99})
    monkeypatch.setattr(groups, "open_cluster", opening(world))
    yield world
    world.close()


def run(*flags: str) -> int:
    """Run the command, and return its exit status."""
    return main(["groups", "--zookeeper", "zk", *flags])


def test_groups_are_listed(world: StatusWorld, lines: PrintedLines) -> None:
    """Groups of both kinds are, or of one kind only."""
    world.tree.commit("empty", "t", 0, b"100")
    assert run() == 0
    assert lines() == [
        "GROUP  KIND         STATE      MEMBERS  PARTITIONS  LAG  TOPICS",
        "c      coordinator  stable           1           2    1  t",
        "empty  zookeeper    abandoned        0           1    0  t",
        "g      zookeeper    stable           1           2   60  t",
    ]
    assert run("list", "--new-consumer", "--json") == 0
    [reported] = json.loads("".join(lines()))["groups"]
    assert (reported["group"], reported["kind"], reported["total_lag"]) == ("c", "coordinator", 1)
    assert run("--list", "--format", "scala") == 0
    assert lines() == ["empty", "g"]
    assert run("--list", "--new-consumer", "--format", "scala") == 0
    assert lines() == ["c"]


def test_an_incomplete_total_is_marked(world: StatusWorld, lines: PrintedLines) -> None:
    """A partition whose log end is not known makes the total lag "60+"."""
    world.tree.commit("g", "t", 1, b"1")
    world.cluster.actions[1] = ScriptedAction.CLOSE
    assert run("list", "--kind", "zookeeper", "--timeout-ms", "500") == 0
    assert [line.split()[5] for line in lines()[1:] if line.startswith("g ")] == ["60+"]
    assert run("describe", "--group", "g", "--timeout-ms", "500") == 0
    reported = lines()
    assert reported[0].endswith("lag 60+")
    assert reported[3].split()[-1] == "60+"


def test_groups_are_described(world: StatusWorld, lines: PrintedLines) -> None:
    """Members and partitions are listed, with a note of what is wrong."""
    world.tree.disown("g", "t", 1)
    assert run("describe", "--group", "g", "--group", "c") == 0
    reported = lines()
    assert reported[:10] == [
        "zookeeper group g: rebalancing, 1 member, 2 partitions, lag 60",
        "",
        "MEMBER                      HOST  READS  PARTITIONS  LAG  NOTE",
        f"{MEMBER}  h     t:1             1   60",
        "",
        "TOPIC  PARTITION  OFFSET  IN         LOG END  LAG  OWNER                         NOTE",
        f"t              0      40  zookeeper      100   60  {MEMBER}-0",
        f"t              1       -  -              100    -  -{' ' * 29}nobody owns it",
        "",
        "coordinator group c: stable, 1 member, 2 partitions, lag 1",
    ]
    assert run("describe", "--group", "g", "--json") == 0
    [group] = json.loads("".join(lines()))["groups"]
    assert group["members"][0]["member"] == MEMBER
    assert [partition["lag"] for partition in group["partitions"]] == [60, None]


@pytest.mark.usefixtures("world")
def test_a_description_in_the_originals_format(lines: PrintedLines) -> None:
    """It lists the partitions below ``owners``; a group that does not exist is no error."""
    assert run("--describe", "--group", "g", "--format", "scala") == 0
    head = "GROUP, TOPIC, PARTITION, CURRENT OFFSET, LOG END OFFSET, LAG, OWNER"
    missing = "due to missing offset data in zookeeper."
    assert lines() == [
        head,
        f"Could not fetch offset from zookeeper for group g partition [t,1] {missing}",
        f"g, t, 0, 40, 100, 60, {MEMBER}-0",
        f"g, t, 1, unknown, 100, unknown, {MEMBER}-0",
    ]
    assert run("--describe", "--group", "no", "--format", "scala") == 0
    assert lines() == ["No topic available for consumer group provided", head]
    assert run("--describe", "--group", "no", "--new-consumer", "--format", "scala") == 0
    assert lines() == ["Consumer group `no` does not exist or is rebalancing."]


def test_watching_a_group(
    world: StatusWorld, lines: PrintedLines, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each snapshot shows what is new since the last one, and a rebalance with its cause."""
    snapshots = 0

    def before_next_snapshot(_ms: int) -> None:
        nonlocal snapshots
        snapshots += 1
        world.clock.advance(2_000)
        if snapshots == 1:
            world.tree.commit("g", "t", 0, b"70")
        if snapshots == 2:
            other = world.tree.join("g", "g_i-1400000000000-1a2b3c4d", {"t": 1})
            world.tree.disown("g", "t", 1)
            world.tree.own("g", "t", 1, "g_i-1400000000000-1a2b3c4d-0", other)

    monkeypatch.setattr("zkconsumer.cli.live.wait_ms", before_next_snapshot)
    assert run("watch", "--group", "g", "--interval", "0.5", "--count", "4") == 0
    reported = lines()
    assert [line[25:] for line in reported if line[0] == "2"] == [
        "zookeeper group g: stable, 1 member, lag 60",
        "zookeeper group g: stable, 1 member, lag 30, +30 read",
        "zookeeper group g: stable, 2 members, lag 30",
    ]
    assert reported[3:] == [
        f"  t-1: {MEMBER}-0 -> g_i-1400000000000-1a2b3c4d-0",
        "  rebalance done within 2.0 s: member g_i-1400000000000-1a2b3c4d joined; "
        "1 partition changed hands",
    ]


@pytest.mark.usefixtures("world")
def test_watching_all_groups_as_json(lines: PrintedLines) -> None:
    """There is one line for each group and snapshot."""
    assert run("watch", "--json", "--interval", "0.1", "--count", "2") == 0
    reported = [json.loads(line) for line in lines()]
    assert [(item["group"], item["read"]) for item in reported] == [("c", 0), ("g", 0)] * 2


def test_a_group_is_deleted_after_a_confirmation(
    world: StatusWorld, lines: PrintedLines, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a terminal nothing is deleted; a live group is refused before the question."""
    world.tree.commit("old", "t", 0, b"100")
    monkeypatch.setattr("sys.stdin", None)
    assert run("delete", "--group", "old") == 2
    assert world.tree.store.children_many(["/consumers"]) == [["g", "old"]]
    assert run("delete", "--group", "old", "--yes") == 0
    assert lines() == ["zookeeper group old: deleted"]
    assert run("delete", "--group", "g", "--yes") == 2
    assert world.tree.store.children_many(["/consumers"]) == [["g"]]


def test_offsets_of_a_topic_are_deleted_from_all_groups(
    world: StatusWorld, capsys: pytest.CaptureFixture[str]
) -> None:
    """Groups with members are left alone, and named."""
    world.tree.commit("old", "t", 0, b"100")
    world.tree.commit("old", "u", 0, b"100")
    assert run("delete", "--topic", "t", "--yes", "--json") == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["deleted"] == [
        {"group": "old", "kind": "zookeeper", "topic": "t", "result": "done"}
    ]
    assert "zookeeper group g, topic t: not deleted" in printed.err
    assert world.tree.store.children_many(["/consumers/old/offsets"]) == [["u"]]
    assert run("delete", "--topic", "none", "--yes") == 2


def test_the_confirmation_counts_what_will_be_deleted(
    world: StatusWorld, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An invalid topic name such as ``u/0``, the path of an offset, deletes nothing."""
    for topic, number in (("t", 0), ("u", 0), ("u", 1)):
        world.tree.commit("old", topic, number, b"100")
    monkeypatch.setattr("sys.stdin", None)
    assert run("delete", "--group", "old", "--topic", "t") == 2
    assert "old, topic t will be deleted, with its offsets (1 partition in all)" in (
        capsys.readouterr().err
    )
    for name in ("u/0", ""):
        assert run("delete", "--group", "old", "--topic", name, "--yes") == 2
    assert world.tree.store.children_many(["/consumers/old/offsets/u"]) == [["0", "1"]]


def test_a_deletion_in_the_originals_format(world: StatusWorld, lines: PrintedLines) -> None:
    """It prints each result and exits with 0; a group without ``ids`` does not exist for it."""
    world.tree.commit("old", "t", 0, b"100")
    world.tree.commit("odd", "t", 0, b"100")
    world.tree.write("/consumers/old/ids", b"")
    names = [flag for name in ("old", "g", "no", "odd") for flag in ("--group", name)]
    assert run("--delete", *names, "--yes", "--format", "scala") == 0
    assert lines() == [
        "Deleted all consumer group information for group old in zookeeper.",
        "Delete for group g failed because its consumers are still active.",
        "Delete for group no failed because group does not exist.",
        "Delete for group odd failed because group does not exist.",
    ]
    assert run("--delete", "--topic", "x", "--yes", "--format", "scala") == 0
    assert lines()[0].endswith("for all inactive consumer groups for topic x in zookeeper.")


def answer_delete_groups(world: StatusWorld, code: ErrorCode) -> list[str]:
    """Let the brokers answer DeleteGroups with a code; return the groups that were requested."""
    requested: list[str] = []

    def wrapped(other: Answer) -> Answer:
        def response(frame: RequestFrame) -> ScriptedResponse | None:
            if not isinstance(frame.request, DeleteGroupsRequest):
                return other(frame)
            requested.extend(frame.request.groups_names)
            return DeleteGroupsResponse(
                results=tuple(
                    DeletedGroup(group_id=name, error_code=int(code))
                    for name in frame.request.groups_names
                )
            )

        return response

    for broker in world.cluster.brokers:
        broker.response = wrapped(broker.response)
    return requested


@pytest.mark.parametrize(
    ("code", "status", "reported"),
    [
        (ErrorCode.NONE, 0, "deleted"),
        (ErrorCode.NON_EMPTY_GROUP, 2, "not deleted: it has live members, stop them first"),
        (ErrorCode.GROUP_ID_NOT_FOUND, 0, "there is no such group"),
    ],
)
def test_a_coordinator_s_group_is_deleted(
    world: StatusWorld, lines: PrintedLines, code: ErrorCode, status: int, reported: str
) -> None:
    """The coordinator's error code decides what is printed."""
    world.groups["c"].members = {}
    requested = answer_delete_groups(world, code)
    assert run("delete", "--group", "c", "--yes") == status
    assert (requested, lines()) == (["c"], [f"coordinator group c: {reported}"])


def test_a_coordinator_that_can_not_delete_is_an_error(
    world: StatusWorld, capsys: pytest.CaptureFixture[str]
) -> None:
    """Brokers before 1.1 can't, others may refuse; none can delete a single topic's offsets."""
    world.groups["c"].members = {}
    assert run("delete", "--group", "c", "--topic", "t", "--yes") == 2
    answer_delete_groups(world, ErrorCode.GROUP_AUTHORIZATION_FAILED)
    assert run("delete", "--group", "c", "--yes") == 1
    assert "GROUP_AUTHORIZATION_FAILED" in capsys.readouterr().err
    for broker in world.cluster.brokers:
        broker.serves = old(BrokerGeneration.V0_9)
        broker.generation = BrokerGeneration.V0_9
    assert run("delete", "--group", "c", "--yes") == 1
    assert "expire after offsets.retention.minutes" in capsys.readouterr().err


def test_what_was_deleted_before_a_failure_is_reported(
    world: StatusWorld, lines: PrintedLines
) -> None:
    """Nobody should think that it still exists."""
    world.tree.commit("old", "t", 0, b"100")
    world.groups["c"].members = {}
    answer_delete_groups(world, ErrorCode.GROUP_AUTHORIZATION_FAILED)
    assert run("delete", "--group", "old", "--group", "c", "--yes") == 1
    assert lines() == ["zookeeper group old: deleted"]


def test_a_partial_deletion_is_not_called_a_refusal(
    world: StatusWorld, lines: PrintedLines
) -> None:
    """Exit status 2 means that nothing was done."""
    world.tree.commit("old", "t", 0, b"100")
    world.groups["c"].members = {}
    answer_delete_groups(world, ErrorCode.NON_EMPTY_GROUP)
    assert run("delete", "--group", "old", "--group", "c", "--yes") == 1
    assert lines()[0] == "zookeeper group old: deleted"


@pytest.mark.parametrize(
    "flags",
    [
        ["describe"],
        ["list", "--group", "g"],
        ["list", "--delete"],
        ["describe", "--group", "g", "--topic", "t"],
        ["describe", "--group", "none"],
        ["watch", "--format", "scala"],
        ["watch", "--group", "g", "--group", "h"],
        ["delete", "--yes"],
    ],
)
@pytest.mark.usefixtures("world")
def test_contradictory_arguments_are_refused(flags: list[str]) -> None:
    """The exit status is that of wrong usage."""
    assert run(*flags) == 2
