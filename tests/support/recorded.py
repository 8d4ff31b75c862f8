"""Records histories of members; see ``tests.histories``."""

from collections.abc import Iterable, Iterator, Mapping

from tests.histories.recorder import Recorder
from tests.histories.rules import PROMISES
from zkconsumer import MessageAndMetadata, ZkConsumerError

Stream = Iterable[MessageAndMetadata[bytes, bytes]]


def recorded(
    stream: Stream, recorder: Recorder, member: str, reader: str
) -> Iterator[MessageAndMetadata[bytes, bytes]]:
    """Iterate over a stream, and record each message before it is delivered."""
    messages = iter(stream)
    while True:
        recorder.requests(reader)
        try:
            message = next(messages)
        except StopIteration:
            recorder.ended(reader)
            return
        except ZkConsumerError as error:
            recorder.failed(reader, error)
            raise
        # A member with a blacklist also reads topics that other tests left on this cluster.
        value = (message.value or b"").decode(errors="replace")
        where = (message.topic, message.partition, message.offset)
        recorder.given(reader, member, [(*where, value)])
        yield message


def promises_of(settings: Mapping[str, str]) -> list[str]:
    """Return the promises of a connector with these settings that ZooKeeper's log can show."""
    promises = set(PROMISES)
    if settings.get("offsets.storage") == "kafka":
        promises &= {"order", "owned"}
    if settings.get("auto.commit.enable") == "false":
        promises -= {"consumed", "hands_over"}
    if settings.get("delivery") in {"scala", "at_most_once"}:
        promises &= {"order", "owned", "fenced"}
    return sorted(promises)


def declare(recorder: Recorder, member: str, settings: Mapping[str, str]) -> None:
    """Record that a member of ours joins, with these settings."""
    recorder.add(
        member,
        "info",
        "member",
        member=member,
        promises=promises_of(settings),
        start="earliest" if settings.get("auto.offset.reset") == "smallest" else "latest",
        late_ms=int(settings.get("zookeeper.session.timeout.ms", "6000")),
    )
