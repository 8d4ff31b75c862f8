"""The console consumer of a coordinator group: which records it prints and commits."""

import argparse
from collections.abc import Callable
from typing import Any, cast

import pytest

from tests.support.poll_callers import A, B
from tests.support.poll_fakes import FakeParts
from zkconsumer.assignment.filters import Blacklist, Whitelist
from zkconsumer.cli.consume.polled import consume_polled
from zkconsumer.cli.consume.settings import console_settings
from zkconsumer.cli.output import Output, OutputClosed
from zkconsumer.cli.signals import StopSignals
from zkconsumer.consumer import kafka_consumer
from zkconsumer.consumer.arguments import topic_matcher_of
from zkconsumer.errors import CommitFailed, OffsetCommitFailed, ZkConsumerError
from zkconsumer.membership.protocol import RevocationKind
from zkconsumer.metrics.consumer import ConsumerMetrics

GROUP = {"group.id": "g", "bootstrap.servers": "b:9092", "auto.offset.reset": "earliest"}


class Console:
    """The command with a fake cluster.

    Attributes:
        lines: the written lines.
        on_line: called with each line, before it counts as written.
        stop: the signals of the command.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, **settings: str) -> None:
        self._settings = GROUP | {name.replace("_", "."): text for name, text in settings.items()}
        self.fakes = FakeParts(
            group_id="g",
            auto_offset_reset="earliest",
            enable_auto_commit=settings.get("enable_auto_commit") != "false",
            auto_commit_interval_ms=int(settings.get("auto_commit_interval_ms", 5_000)),
        )
        monkeypatch.setattr(kafka_consumer, "assemble", self._assemble)
        self.lines: list[bytes] = []
        self.on_line: Callable[[bytes], None] = lambda _line: None
        self.stop = StopSignals()
        monkeypatch.setattr(self.stop, "leave", lambda: None)

    def _assemble(self, _config: object) -> Any:
        return self.fakes.parts()

    def write(self, line: bytes) -> None:
        """See ``Output``."""
        self.on_line(line)
        self.lines.append(line)

    def run(self, *, max_messages: int | None = None) -> None:
        """Consume topic ``t``."""
        args = argparse.Namespace(
            zookeeper=None,
            bootstrap_server=None,
            group=None,
            timeout_ms=None,
            topic="t",
            whitelist=None,
            blacklist=None,
            output=None,
            property=(),
            max_messages=max_messages,
            from_beginning=False,
            delete_consumer_offsets=False,
        )
        settings = console_settings(args, self._settings)
        output = cast("Output", self)
        consume_polled(settings, output, self.stop, ConsumerMetrics())

    @property
    def committed(self) -> dict[str, int]:
        """The group's committed offsets, by partition."""
        found = self.fakes.group.committed_offsets
        return {f"{tp}": committed.offset for tp, committed in sorted(found.items())}


def test_only_written_records_are_committed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A record whose line could not be written is not, but all before it are."""
    console = Console(monkeypatch)
    console.fakes.engine.ends = {A: 3, B: 3}
    console.fakes.group.assign(A, B)

    def refuse(line: bytes) -> None:
        if line == b"t-1:1\n":
            raise OutputClosed

    console.on_line = refuse
    with pytest.raises(OutputClosed):
        console.run()
    written = [sum(line.startswith(f"{tp}:".encode()) for line in console.lines) for tp in (A, B)]
    assert console.committed == {"t-0": written[0], "t-1": 1}


def test_the_last_record_of_the_limit_is_committed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Although no further one was requested."""
    console = Console(monkeypatch)
    console.fakes.engine.ends = {A: 10}
    console.fakes.group.assign(A)
    console.run(max_messages=7)
    assert console.lines == [b"t-0:%d\n" % offset for offset in range(7)]
    assert console.committed == {"t-0": 7}


def test_nothing_is_committed_without_automatic_commits(monkeypatch: pytest.MonkeyPatch) -> None:
    """With ``enable.auto.commit=false``."""
    console = Console(monkeypatch, enable_auto_commit="false", consumer_timeout_ms="100")
    console.fakes.engine.ends = {A: 2}
    console.fakes.group.assign(A)
    console.run()
    assert (len(console.lines), console.committed) == (2, {})


def test_a_generated_group_commits_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its consumer has automatic commits switched off."""
    console = Console(monkeypatch, consumer_timeout_ms="100")
    configs = []

    def assemble(config: Any) -> Any:
        configs.append(config)
        return console.fakes.parts()

    monkeypatch.setattr(kafka_consumer, "assemble", assemble)
    monkeypatch.delitem(console._settings, "group.id")
    console.run()
    (config,) = configs
    assert config.group_id.startswith("console-consumer-")
    assert not config.enable_auto_commit


def test_reading_ends_after_a_time_without_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    """The time counts from the last message, and commits are made meanwhile."""
    console = Console(monkeypatch, consumer_timeout_ms="100", auto_commit_interval_ms="40")
    clock, group = console.fakes.clock, console.fakes.group
    group.assign(A)
    times = []

    def come() -> None:
        clock.advance(80)
        group.response()
        console.fakes.engine.ends = {A: 1}

    def pass_40_ms() -> None:
        clock.advance(40)

    console.fakes.wakeup.meanwhile = [pass_40_ms, come, pass_40_ms]
    console.on_line = lambda _line: times.append(clock.now_ms())
    console.run()
    assert console.lines == [b"t-0:0\n"]
    assert clock.now_ms() - times[0] >= 100
    assert [{f"{tp}": at.offset for tp, at in made.items()} for made, _ in group.pending] == [
        {"t-0": 1}
    ]


@pytest.mark.parametrize("refusal", [CommitFailed("over"), OffsetCommitFailed("g", {A: "late"})])
def test_a_failed_commit_is_repeated(
    monkeypatch: pytest.MonkeyPatch, refusal: ZkConsumerError
) -> None:
    """A failed commit does not end the command."""
    console = Console(monkeypatch, consumer_timeout_ms="100", auto_commit_interval_ms="20")
    group = console.fakes.group
    console.fakes.engine.ends = {A: 1}
    group.assign(A)

    def fail() -> None:
        console.fakes.clock.advance(30)

    def answer() -> None:
        group.response(refusal)
        console.fakes.engine.ends = {A: 2}

    console.fakes.wakeup.meanwhile = [fail, answer]
    console.run()
    assert len(console.lines) == 2
    assert console.committed == {"t-0": 2}


def test_revoked_partitions_are_committed_and_lost_ones_are_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A revoked partition is committed once more, a lost one not at all."""
    console = Console(monkeypatch, consumer_timeout_ms="100")
    group = console.fakes.group
    console.fakes.engine.ends = {A: 1, B: 2}
    group.assign(A, B)

    def rebalance() -> None:
        group.revoke(A)
        group.revoke(B, why=RevocationKind.LOST)

    console.fakes.wakeup.meanwhile = [lambda: None, rebalance]
    console.run()
    assert len(console.lines) == 3
    assert console.committed == {"t-0": 1}


def test_a_stop_leaves_out_the_rest_of_a_poll(monkeypatch: pytest.MonkeyPatch) -> None:
    """Records of the poll that were not printed are not committed."""
    console = Console(monkeypatch)
    console.fakes.engine.ends = {A: 3}
    console.fakes.group.assign(A)

    def stop(_line: bytes) -> None:
        assert console.stop.wake is not None
        console.stop.wake()
        console.fakes.clock.advance(10)

    console.on_line = stop
    console.run()
    assert console.lines == [b"t-0:0\n"]
    assert console.committed == {"t-0": 1}


@pytest.mark.parametrize(
    ("filter_", "yes", "no"),
    [
        (Whitelist("web.*|a"), ["web", "webs", "a"], ["ab", "my-web"]),
        (Blacklist("web.*|a"), ["ab", "my-web"], ["web", "webs", "a"]),
    ],
    ids=["whitelist", "blacklist"],
)
def test_filters_match_whole_names(
    filter_: Whitelist | Blacklist, yes: list[str], no: list[str]
) -> None:
    """So do the filters that are given to a consumer in place of a pattern."""
    matches = topic_matcher_of(filter_)
    assert [topic for topic in yes + no if matches(topic)] == yes
