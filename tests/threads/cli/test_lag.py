"""``zkconsumer lag`` on a cluster in memory."""

import json
import threading
from argparse import Namespace
from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest

from tests.support.altered_messages import altered
from tests.support.opened_cluster import opening
from tests.support.scripted_broker import Answer, ScriptedAction, ScriptedResponse
from tests.support.scripted_groups import ScriptedGroup
from tests.support.status_world import MEMBER, T0, StatusWorld
from tests.threads.cli.conftest import PrintedLines
from zkconsumer.cli.lag import command as lag
from zkconsumer.cli.lag.rows import lag_rows
from zkconsumer.cli.main import main
from zkconsumer.error_codes import ErrorCode
from zkconsumer.model import Record, TimestampType
from zkconsumer.records.build_batch import build_batch
from zkconsumer.status.model import PartFailure
from zkconsumer.status.reading.coordinators import OFFSETS_TOPIC
from zkconsumer.wire.api import ApiKey
from zkconsumer.wire.codec import RequestFrame
from zkconsumer.wire.messages.fetch import (
    FetchedPartition,
    FetchedTopic,
    FetchRequest,
    FetchResponse,
)
from zkconsumer.wire.messages.list_offsets import ListOffsetsResponse

NOW_MS = 1_400_000_000_000
HEAD = "GROUP  TOPIC  PARTITION  OFFSET  LOG END  LAG  SECONDS  OWNER"
OWNER = f"{MEMBER}-0"


class LagWorld(StatusWorld):
    """A cluster whose logs end at 100, with records that are 12.3 s old or have no timestamp."""

    def __init__(self) -> None:
        super().__init__()
        self.written_ms: int | None = NOW_MS - 12_300
        for broker in self.cluster.brokers:
            broker.response = self._with_records(broker.response)

    def _with_records(self, other: Answer) -> Answer:
        def response(frame: RequestFrame) -> ScriptedResponse | None:
            request = frame.request
            if not isinstance(request, FetchRequest):
                return other(frame)
            return FetchResponse(
                topics=tuple(
                    FetchedTopic(
                        topic=topic.topic,
                        partitions=tuple(
                            FetchedPartition(
                                partition=partition.partition,
                                error_code=0,
                                high_watermark=100,
                                records=memoryview(self._records(partition.fetch_offset)),
                            )
                            for partition in topic.partitions
                        ),
                    )
                    for topic in request.topics
                )
            )

        return response

    def _records(self, offset: int) -> bytes:
        if self.written_ms is None:
            return b""
        kind = TimestampType.CREATE_TIME
        return build_batch([Record(offset, None, b"v", self.written_ms, kind)])


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> Iterator[LagWorld]:
    """A group that owns two partitions, and has committed an offset of one of them."""
    world = LagWorld()
    world.zookeeper_group()
    monkeypatch.setattr(lag, "open_cluster", opening(world))
    yield world
    world.close()


def run(*flags: str) -> int:
    """Run the command without waiting for logs to grow, and return its exit status."""
    sample = [] if "--sample-ms" in flags else ["--sample-ms", "0"]
    return main(["lag", "--zkconnect", "zk", *sample, *flags])


def test_the_lag_of_a_group(world: LagWorld, lines: PrintedLines) -> None:
    """It is shown in records, and in seconds by the timestamp of the next record to read."""
    assert run("--group", "g") == 0
    assert lines() == [
        HEAD,
        f"g      t              0      40      100   60     12.3  {OWNER}",
        f"g      t              1       -      100    -        -  {OWNER}",
        "zookeeper group g: 60 behind in 2 partitions, up to 12.3 s; 1 unknown",
    ]
    world.tree.commit("g", "t", 1, b"100")
    assert run("--group", "g", "--broker-info") == 0
    assert lines()[2:] == [
        f"g      t              1     100      100    0        0  {OWNER}",
        "zookeeper group g: 60 behind in 2 partitions, up to 12.3 s",
        "BROKER INFO",
        "0 -> b0:9092",
        "1 -> b1:9092",
    ]


def test_seconds_are_unknown_without_timestamps(world: LagWorld, lines: PrintedLines) -> None:
    """They are if the log does not grow either, so that they can't be estimated."""
    world.written_ms = None
    assert run("--group", "g", "--sample-ms", "1") == 0
    assert lines()[1] == f"g      t              0      40      100   60        -  {OWNER}"


def test_the_lag_of_several_groups(world: LagWorld, lines: PrintedLines) -> None:
    """Each named group is shown and no other; a group that does not exist is an error."""
    for name in ("h", "i"):
        world.tree.commit(name, "t", 0, b"90")
    assert run("--group", "h", "--group", "g", "--no-seconds") == 0
    assert [line.split()[0] for line in lines()[1:]] == ["h", "g", "g", "zookeeper"]
    assert run("--group", "h", "--group", "nope", "--no-seconds") == 2


def test_without_seconds_no_record_is_read(world: LagWorld, lines: PrintedLines) -> None:
    """A limit of seconds can't be checked then."""
    assert run("--group", "g", "--no-seconds") == 0
    assert lines()[1] == f"g      t              0      40      100   60        -  {OWNER}"
    assert not world.cluster.requested(ApiKey.FETCH)
    assert run("--no-seconds", "--max-seconds", "1") == 2


def test_the_lag_as_json(world: LagWorld, capsys: pytest.CaptureFixture[str]) -> None:
    """Numbers are numbers, and unknown values are null."""
    world.tree.commit("g", "t", 1, b"200")
    assert run("--json") == 0
    [group] = json.loads(capsys.readouterr().out)["groups"]
    first, second = group.pop("partitions")
    assert group == {"group": "g", "kind": "zookeeper", "state": "stable", "total_lag": 60}
    assert (first["lag"], first["seconds"], first["seconds_estimated"]) == (60, 12.3, False)
    assert (second["lag"], second["placement"], second["seconds"]) == (0, "beyond_end", 0)


@pytest.mark.parametrize("kind", ["zookeeper", "coordinator"])
def test_an_offset_that_was_read_after_its_log_end_is_read_again(
    world: LagWorld, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    """The log may have grown in between: only a second read tells that the offset is beyond it."""
    world.topic(OFFSETS_TOPIC)
    if kind == "zookeeper":
        world.tree.commit("c", *T0, b"200")
        logs_read = threading.Event()
        response = world.cluster.brokers[0].response

        def answer(frame: RequestFrame) -> ScriptedResponse | None:
            if frame.api_key is ApiKey.LIST_GROUPS:  # which is requested after the log ends
                logs_read.set()
            return response(frame)

        def wait_for_logs(paths: Sequence[str]) -> None:
            if "/consumers/c/offsets" in paths:
                assert logs_read.wait(10)

        world.cluster.brokers[0].response = answer
        world.tree.client.before = wait_for_logs
    else:
        world.groups["c"] = ScriptedGroup(1, state="Empty", offsets={T0: 200})
    world.clock.step_ms = 1
    flags = ("--no-seconds", "--json", "--max-lag", "5")
    assert run("--group", "c", "--kind", kind, *flags) == 1
    printed = capsys.readouterr()
    [group] = json.loads(printed.out)["groups"]
    assert [row["placement"] for row in group["partitions"]] == ["beyond_end"]
    assert "beyond the end of its log" in printed.err


def test_a_group_that_keeps_up_with_a_growing_log(
    world: LagWorld, capsys: pytest.CaptureFixture[str]
) -> None:
    """It committed after the log end was read: the second read finds it within its log."""
    world.topic(OFFSETS_TOPIC)
    world.groups["c"] = ScriptedGroup(1, state="Empty", offsets={T0: 105})
    world.clock.step_ms = 1
    response = world.cluster.brokers[0].response

    def grown(frame: RequestFrame) -> ScriptedResponse | None:
        reported = response(frame)
        fetched = world.cluster.requested(ApiKey.OFFSET_FETCH)
        if fetched and isinstance(reported, ListOffsetsResponse):
            ends = [
                altered(
                    topic,
                    partitions=tuple(
                        altered(partition, offset=110 if partition.offset == 100 else 0)
                        for partition in topic.partitions
                    ),
                )
                for topic in reported.topics
            ]
            return altered(reported, topics=tuple(ends))
        return reported

    world.cluster.brokers[0].response = grown
    assert run("--group", "c", "--no-seconds", "--json", "--max-lag", "5") == 0
    [group] = json.loads(capsys.readouterr().out)["groups"]
    [row] = group["partitions"]
    assert (row["offset"], row["log_end"], row["lag"], row["placement"]) == (105, 110, 5, "within")


def test_a_doubtful_offset_does_not_cost_a_second_read_of_the_cluster(
    world: LagWorld, capsys: pytest.CaptureFixture[str]
) -> None:
    """Only its group is read again; if very many are doubtful, all are, in their own time."""
    world.topic(OFFSETS_TOPIC)
    world.groups["c"] = ScriptedGroup(1, state="Empty", offsets={T0: 200})
    world.clock.step_ms = 1
    assert run("--no-seconds", "--json") == 0
    groups = {group["group"]: group for group in json.loads(capsys.readouterr().out)["groups"]}
    assert [row["placement"] for row in groups["c"]["partitions"]] == ["beyond_end"]
    once = len(world.cluster.requested(ApiKey.LIST_GROUPS))
    for number in range(lag.FEW_GROUPS):
        world.groups[f"c{number}"] = ScriptedGroup(1, state="Empty", offsets={T0: 200})
    assert run("--no-seconds", "--json") == 0
    assert len(world.cluster.requested(ApiKey.LIST_GROUPS)) == 3 * once


def test_the_lag_of_chosen_topics(world: LagWorld, lines: PrintedLines) -> None:
    """All of their partitions are shown, also those that the group does not read."""
    world.topic("u")
    assert run("--group", "g", "--topic", "u") == 0
    assert lines()[1:] == [
        "g      u              0       -      100    -        -  nobody",
        "g      u              1       -      100    -        -  nobody",
        "zookeeper group g: lag unknown in 2 partitions; nobody owns 2",
    ]
    assert run("--group", "g", "--topic", "t,v") == 2


def test_the_lag_in_the_originals_format(world: LagWorld, lines: PrintedLines) -> None:
    """It covers the topics below ``owners``; without that node it prints an error, with 0."""
    assert run("--group", "g", "--format", "scala") == 0
    row = "{:<15} {:<30} {:<3} {:<15} {:<15} {:<15} {}"
    assert lines() == [
        row.format("Group", "Topic", "Pid", "Offset", "logSize", "Lag", "Owner"),
        row.format("g", "t", 0, 40, 100, 60, OWNER),
        row.format("g", "t", 1, -1, 100, "unknown", OWNER),
    ]
    world.tree.commit("h", "t", 0, b"1")
    assert run("--group", "h", "--format", "scala") == 0
    assert "KeeperErrorCode = NoNode for /consumers/h/owners" in lines()[0]


@pytest.mark.parametrize(
    ("flags", "status"),
    [
        (["--max-lag", "59"], 3),
        (["--max-lag", "60"], 0),
        (["--max-seconds", "12"], 3),
        (["--max-seconds", "13"], 0),
        (["--max-lag", "1000", "--max-seconds", "12"], 3),
    ],
)
@pytest.mark.usefixtures("world")
def test_limits_decide_the_exit_status(flags: list[str], status: int) -> None:
    """Scripts can check a group with them."""
    assert run(*flags) == status


def test_an_unknown_lag_is_no_all_clear(
    world: LagWorld, capsys: pytest.CaptureFixture[str]
) -> None:
    """An invalid offset, or seconds that can't be known, make a check fail with 1."""
    world.written_ms = None
    assert run("--max-lag", "60") == 0
    assert run("--max-seconds", "60") == 1
    assert "its log does not grow" in capsys.readouterr().err
    world.tree.commit("g", "t", 0, b"garbage")
    assert run("--max-lag", "60") == 1
    assert "is not an offset" in capsys.readouterr().err


def test_groups_that_can_not_be_listed_are_no_all_clear(
    world: LagWorld, capsys: pytest.CaptureFixture[str]
) -> None:
    """A broker that does not list its groups may coordinate some with a large lag."""
    world.cluster.actions[1] = ScriptedAction.CLOSE
    assert run("--timeout-ms", "500") == 0
    assert run("--timeout-ms", "500", "--max-lag", "60") == 1
    assert "groups of broker 1" in capsys.readouterr().err
    assert run("--timeout-ms", "500", "--max-lag", "60", "--kind", "zookeeper") == 0


def test_offsets_beyond_the_end_are_no_all_clear(
    world: LagWorld, capsys: pytest.CaptureFixture[str]
) -> None:
    """The topic may have been deleted and created again: a lag of 0 means nothing then."""
    world.tree.commit("g", "t", 0, b"1000")
    assert run("--max-lag", "60") == 1
    printed = capsys.readouterr()
    assert "beyond the end of its log" in printed.err
    assert printed.out.splitlines()[-1] == (
        "t-0 of zookeeper group g: offset 1000 is beyond the end of its log: "
        "was the topic created again?"
    )


def test_offsets_that_kafka_does_not_return_are_no_all_clear(
    world: LagWorld, capsys: pytest.CaptureFixture[str]
) -> None:
    """A group that stores its offsets only there would seem to have none."""
    failure = PartFailure(
        part="offsets of group g in Kafka", reason="no answer", since_ms=NOW_MS, group_id="g"
    )
    snapshot = replace(world.reader().read(), failures=(failure,))
    assert snapshot.groups
    args = Namespace(max_lag=60, max_seconds=None, group="g", kind=None)
    rows = lag_rows(snapshot, snapshot.groups.values(), None, {})
    assert lag._status(args, rows, snapshot) == 1
    assert "t-1 of zookeeper group g: the group's offsets in Kafka" in capsys.readouterr().err


def test_a_broker_that_does_not_respond_is_named(
    world: LagWorld, capsys: pytest.CaptureFixture[str]
) -> None:
    """The partitions of the other brokers are shown."""
    world.cluster.actions[1] = ScriptedAction.CLOSE
    world.tree.commit("g", "t", 1, b"1")
    assert run("--group", "g", "--max-lag", "60") == 1
    printed = capsys.readouterr()
    assert (
        printed.out.splitlines()[2]
        == f"g      t              1       1        -    -        -  {OWNER}"
    )
    assert "log ends of broker 1" in printed.err


def test_watching_the_lag(world: LagWorld, lines: PrintedLines) -> None:
    """Without a terminal, each snapshot is appended to the output."""
    world.clock.step_ms = 1
    assert run("--group", "g", "--watch", "--interval", "0.1", "--count", "2") == 0
    reported = lines()
    assert [reported.count(HEAD), reported[0][:3], len(reported)] == [2, "201", 10]
    # The timestamp at an offset is fetched once: it does not change.
    assert len(world.cluster.requested(ApiKey.FETCH)) == 1


def test_watching_a_broker_that_goes_away(
    world: LagWorld, lines: PrintedLines, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last known values stay, with the time since when they are old."""

    def next_read(_ms: int) -> None:
        world.cluster.actions[0] = ScriptedAction.CLOSE

    monkeypatch.setattr("zkconsumer.cli.live.wait_ms", next_read)
    flags = ("--no-seconds", "--timeout-ms", "500", "--interval", "0.1", "--count", "2")
    assert run("--group", "g", "--watch", *flags) == 0
    reported = [line for line in lines() if "log ends of broker 0" in line]
    assert [line.partition(": since 20")[0] for line in reported] == ["log ends of broker 0"]


def test_watching_an_offset_that_is_refused(
    world: LagWorld, lines: PrintedLines, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last known offset stays, with a line that says why it may be old."""
    world.topic(OFFSETS_TOPIC)
    members = {"m": {"t": (0,)}}
    world.groups["c"] = ScriptedGroup(1, members=members, offsets={T0: 90})

    def next_read(_ms: int) -> None:
        refused = {T0: -int(ErrorCode.TOPIC_AUTHORIZATION_FAILED)}
        world.groups["c"] = ScriptedGroup(1, members=members, offsets=refused)

    monkeypatch.setattr("zkconsumer.cli.live.wait_ms", next_read)
    flags = ("--no-seconds", "--interval", "0.1", "--count", "2")
    assert run("--group", "c", "--watch", *flags) == 0
    reported = lines()
    places = [line.split()[2:6] for line in reported if line.startswith("c ")]
    assert [place for place in places if place[0] == "0"] == [["0", "90", "100", "10"]] * 2
    [why] = [line for line in reported if "TOPIC_AUTHORIZATION_FAILED" in line]
    assert why.startswith("t-0 of coordinator group c: its offset in Kafka: ")


@pytest.mark.usefixtures("world")
def test_contradictory_arguments_are_refused() -> None:
    """They are before anything is read."""
    assert run("--group", "none") == 2
    assert run("--format", "scala") == 2
    assert run("--count", "2") == 2
    for flag in ("--interval=0", "--interval=x", "--count=0", "--max-lag=-1", "--sample-ms=1.5"):
        with pytest.raises(SystemExit, match="2"):
            run(flag)
