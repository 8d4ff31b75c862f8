"""The poll engine against real brokers: leaders move, die, hang, and lose records."""

from collections.abc import Mapping
from contextlib import ExitStack

import pytest

from tests.support.cluster_views import await_view
from tests.support.clusters import fresh_name, frozen, without
from tests.support.members import Member
from tests.support.poll_rig import PollRig
from tests.support.traffic import Traffic, partitions_of, write
from tests.support.waiting import wait_until
from zkconsumer.errors import LogTruncated
from zkconsumer.fetch.core.settings import CoreFetchSettings
from zkconsumer.fetch.core.starts import EARLIEST, LATEST, PositionView
from zkconsumer.model import TopicPartition
from zkconsumer.observe import PositionReset
from zkconsumer.sandbox import Sandbox

pytestmark = pytest.mark.sandbox

SETTINGS = CoreFetchSettings(request_timeout_ms=3_000, reset=EARLIEST)


def check_all_came(rig: PollRig, sent: Mapping[TopicPartition, Mapping[int, bytes]]) -> None:
    """Check that acknowledged records came at their offsets, and every offset once and in order."""
    for tp, values in sent.items():
        assert rig.offsets(tp) == list(range(len(rig.offsets(tp))))
        got = {record.offset: record.raw_value for record in rig.got[tp]}
        assert {offset: got[offset] for offset in values} == values


def read_through_a_death(sandbox: Sandbox, topic: str) -> None:
    """Read under traffic while one leader is killed and restarted."""
    sandbox.create_topic(topic, 3, 3)
    partitions = partitions_of(topic, 3)
    with PollRig(sandbox.brokers, [topic], SETTINGS) as rig:
        rig.start(dict.fromkeys(partitions, EARLIEST))
        with Traffic(sandbox, partitions) as traffic:
            rig.poll_until(lambda: all(len(rig.offsets(tp)) > 50 for tp in partitions), "records")
            sandbox.kill_broker(1)
            seen = {tp: len(rig.offsets(tp)) for tp in partitions}
            rig.poll_until(
                lambda: all(len(rig.offsets(tp)) > seen[tp] + 50 for tp in partitions),
                "records of all partitions from the leaders that are left",
            )
            sandbox.start_broker(1)
            traffic.stop()
            ends = traffic.ends()
        rig.poll_until(
            lambda: all(len(rig.offsets(tp)) >= end for tp, end in ends.items()), "all records"
        )
        check_all_came(rig, traffic.acknowledged)


def test_a_killed_leader_loses_and_repeats_nothing_on_0_8(cluster3: Sandbox) -> None:
    """It has Fetch v0, and no leader epochs."""
    read_through_a_death(cluster3, fresh_name("poll-death"))


def test_a_killed_leader_loses_and_repeats_nothing_on_3_9(modern3: Sandbox) -> None:
    """It has Fetch v12 with sessions and leader epochs."""
    read_through_a_death(modern3, fresh_name("poll-death"))


def test_a_broker_that_hangs_delays_its_own_partitions_only(modern3: Sandbox) -> None:
    """The other partitions are read, and stop() does not wait for the broker."""
    topic = fresh_name("poll-hang")
    modern3.create_topic(topic, assignment={0: [0], 1: [2]})
    quick, hung = partitions_of(topic, 2)
    rig = PollRig(modern3.brokers, [topic], CoreFetchSettings(reset=EARLIEST))
    with rig:
        rig.start({quick: PositionView(0), hung: PositionView(0)})
        write(modern3, quick, [b"1"])
        write(modern3, hung, [b"1"])
        rig.poll_until(lambda: len(rig.got) == 2, "a record of each")
        with frozen(modern3, 2):
            write(modern3, quick, [b"2"])
            rig.poll_until(lambda: len(rig.offsets(quick)) == 2, "the other's record")
            rig.engine.seek(hung, LATEST)
            rig.engine.stop()
            rig.dialer.stop()
            rig.client.stop()
            assert not rig.scope.close(10_000), "a third of the request timeout"


def test_an_unclean_election_is_detected(modern3: Sandbox) -> None:
    """The lost records are reported, or the position is reset to the last offset of both logs.

    A stream's position is reset, too.
    """
    topic = fresh_name("poll-unclean")
    modern3.create_topic(topic, assignment={0: [0, 1]})
    tp = TopicPartition(topic, 0)
    no_reset = CoreFetchSettings(request_timeout_ms=3_000, reset=None)
    latest = CoreFetchSettings(request_timeout_ms=3_000, reset=LATEST)
    with (
        PollRig(modern3.brokers, [topic], no_reset) as reported,
        PollRig(modern3.brokers, [topic], latest) as quiet,
        Member(modern3, fresh_name("unclean"), {topic: 1}) as streams,
        ExitStack() as until_the_end,
    ):
        for rig in (reported, quiet):
            rig.start({tp: PositionView(0)})
        write(modern3, tp, [b"both"] * 10)
        for rig in (reported, quiet):
            await_count(rig, tp, 10)
        with without(modern3, 1, end=Sandbox.stop_broker):
            write(modern3, tp, [b"one"] * 5)
            for rig in (reported, quiet):
                await_count(rig, tp, 15)
            wait_until(lambda: len(streams.got(tp)) == 15, what="the same in the stream")
            until_the_end.enter_context(without(modern3, 0))
        with pytest.raises(LogTruncated) as error:
            reported.poll_until(lambda: False, "the truncation")
        assert (error.value.position, error.value.diverged_at) == (15, 10)
        reported.engine.seek(tp, PositionView(10))
        write(modern3, tp, [b"anew"] * 7)
        for rig in (reported, quiet):
            await_count(rig, tp, 22)
            assert rig.offsets(tp)[15:] == list(range(10, 17))
            assert rig.values(tp)[15:] == [b"anew"] * 7
        wait_until(lambda: len(streams.got(tp)) == 22, what="the stream's step back")
        assert streams.got(tp)[15:] == list(range(10, 17))
        assert streams.values(tp)[15:] == [b"anew"] * 7
        assert streams.observed.of(PositionReset) == [PositionReset(tp, 15)]


def await_count(rig: PollRig, tp: TopicPartition, count: int) -> None:
    """Poll until this many records came in all."""
    rig.poll_until(lambda: len(rig.offsets(tp)) >= count, f"{count} records")


@pytest.mark.parametrize("wait", [True, False], ids=["metadata first", "fetch first"])
def test_a_topic_that_is_created_again_is_read_from_its_start(
    modern3: Sandbox, *, wait: bool
) -> None:
    """The old position is within the new log, and the reset policy is ``latest``.

    Requests name the topic by its id, so nothing of the new log comes twice, whether the fetcher or
    the metadata notices the new topic first.
    """
    topic = fresh_name("poll-again")
    tp = TopicPartition(topic, 0)
    modern3.create_topic(topic)
    settings = CoreFetchSettings(request_timeout_ms=3_000, reset=LATEST)
    with PollRig(modern3.brokers, [topic], settings) as rig:
        rig.start({tp: PositionView(0)})
        write(modern3, tp, [b"old"] * 3)
        await_count(rig, tp, 3)
        rig.engine.pause([tp])
        wait_until(lambda: not rig.engine.stats().in_flight, what="the last fetch")
        old_id = rig.metadata.view.topic_ids[topic]
        modern3.delete_topic(topic)
        modern3.create_topic(topic)
        write(modern3, tp, [b"new"] * 9)
        if wait:
            rig.metadata.update()
            assert await_view(
                rig.metadata, lambda view: view.topic_ids.get(topic, old_id) != old_id, 30_000
            )
        rig.engine.resume([tp])
        await_count(rig, tp, 12)
        assert rig.values(tp)[3:] == [b"new"] * 9
        assert rig.offsets(tp)[3:] == list(range(9))
