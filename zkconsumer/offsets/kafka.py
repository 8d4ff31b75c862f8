"""Offsets in Kafka: topic ``__consumer_offsets``, through the group's coordinator. 0.8.2 and later.

Entries are forgotten ``offsets.retention.minutes`` (a day) after their last commit, so a member has
to commit unchanged offsets, too. Nobody checks who commits: see ``guarded``.

What a coordinator has acknowledged may be forgotten once: when it dies before the other replicas
have heard that everybody has the entry, which takes up to half a second, its successor reads on to
what they have heard of, and gives out the offset before that, or none. An entry is out of danger
when a later one of the same partition of the offsets topic is acknowledged: so each commit makes
the one before it safe. While members live on, their next commit mends it. With
``dual.commit.enabled`` ZooKeeper knows better.

Source: Kafka 0.8.2.2 ``ZookeeperConsumerConnector`` with ``offsets.storage=kafka``. Unlike there,
an error of one partition is told instead of taken for "no offset", which would skip messages or
bring all of them again; and a commit that fails is reported.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from zkconsumer.error_codes import ErrorCode, error_name
from zkconsumer.errors import RequestTimedOut, TransportError
from zkconsumer.model import OffsetAndMetadata, TopicPartition
from zkconsumer.offsets.coordinator import Asking, CoordinatorChannel
from zkconsumer.offsets.coordinator_state import Verdict, judge, passes
from zkconsumer.offsets.store import FetchedOffset, commit_refusal
from zkconsumer.wire.api import ApiKey
from zkconsumer.wire.messages import offset_commit as oc
from zkconsumer.wire.messages import offset_fetch as of
from zkconsumer.wire.offsets import is_committed_offset
from zkconsumer.wire.versions import BrokerGeneration, version_for

METADATA_LIMIT: Final = 4096
"""``offset.metadata.max.bytes`` unless configured, which in spite of its name counts characters."""

UNKNOWN_TRIES: Final = 5
"""How often a coordinator may say that it does not know a partition until that is believed."""

_COMMIT_VERSION = version_for(ApiKey.OFFSET_COMMIT, BrokerGeneration.V0_8_2, at_most=1)
_FETCH_VERSION = version_for(ApiKey.OFFSET_FETCH, BrokerGeneration.V0_8_2, at_most=1)

_OTHER_USE = (
    "members of a new-style consumer group (0.9 and later) use the same group id: give one of the "
    "two another name"
)
_ADVICE: Final[Mapping[ErrorCode, str]] = {
    ErrorCode.OFFSET_METADATA_TOO_LARGE: "shorten it, or raise offset.metadata.max.bytes",
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: "its coordinator does not know it, or not yet",
    ErrorCode.ILLEGAL_GENERATION: _OTHER_USE,
    ErrorCode.UNKNOWN_MEMBER_ID: _OTHER_USE,
    ErrorCode.REBALANCE_IN_PROGRESS: _OTHER_USE,
}


class KafkaOffsetStore:
    """An ``OffsetStore`` in Kafka.

    Args:
        channel: the way to the group's coordinator; whoever made it closes it.
        commit_max_retries: ``offsets.commit.max.retries``.
        metadata_limit: how many characters of metadata the brokers take.
    """

    storage: Final = "kafka"
    expires: Final = True

    def __init__(
        self,
        channel: CoordinatorChannel,
        *,
        commit_max_retries: int = 5,
        metadata_limit: int = METADATA_LIMIT,
    ) -> None:
        self._channel = channel
        self._group_id = channel.group_id
        self._commit_max_retries = commit_max_retries
        self._metadata_limit = metadata_limit

    def fetch(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, FetchedOffset]:
        """Read committed offsets, all in one request; see ``OffsetStore``.

        A partition that the coordinator does not know is asked for again: one that has just
        started, or that the news of a new topic has not reached yet, says so though it may have an
        offset. Taken for "no offset" that would lose messages.

        Raises:
            TransportError: no answer in time, or broken off; what an answer said is told.
            UnsupportedVersion: the brokers are older than 0.8.2.
            RegistryError: the brokers could not be listed.
        """
        if not partitions:
            return {}
        fetch = _Fetch(self._group_id, partitions)
        self._channel.call(fetch, tries=None, fetching=True)
        codes = {one.error_code for one in fetch.answers.values()}
        unsettled = {code for code in codes if passes(code)}
        if unsettled:
            raise RequestTimedOut(
                f"group {self._group_id}: no offsets in time: {fetch.broker} still says "
                f"{', '.join(map(_told, sorted(unsettled)))}"
            )
        return {tp: self._fetched(tp, fetch.answers.get(tp)) for tp in partitions}

    def commit(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata],
        *,
        retry: bool = False,
        rewind: bool = False,  # noqa: ARG002 - Kafka takes what it gets
    ) -> dict[TopicPartition, str | None]:
        """Write offsets, whatever was there, all in one request; see ``OffsetStore``.

        Args:
            offsets: what to write.
            retry: try ``offsets.commit.max.retries`` times more, within the channel's limit, what
                failed for a reason that passes; the original does so at shutdown only.
            rewind: makes no difference.

        Raises:
            TransportError: no answer in time, or broken off: nothing, or who knows what, is
                committed.
            UnsupportedVersion: the brokers are older than 0.8.2.
            RegistryError: the brokers could not be listed.
        """
        outcome = {tp: self._refusal(tp, it) for tp, it in offsets.items()}
        wanted = {tp: it for tp, it in offsets.items() if outcome[tp] is None}
        if not wanted:
            return outcome
        commit = _Commit(self._group_id, wanted)
        failure: str | None = None
        try:
            self._channel.call(commit, tries=1 + (self._commit_max_retries if retry else 0))
        except TransportError as error:
            if not commit.answers:
                raise
            # A first try had told of some; of the others nothing new is known.
            failure = str(error)
        return outcome | {tp: _result(commit.answers.get(tp), failure) for tp in wanted}

    def _refusal(self, tp: TopicPartition, it: OffsetAndMetadata) -> str | None:
        length = len(it.metadata.encode("utf-16-be", "surrogatepass")) // 2
        if length > self._metadata_limit:
            return (
                f"its metadata has {length} characters, and the brokers take "
                f"{self._metadata_limit} (offset.metadata.max.bytes): shorten it"
            )
        if any("\ud800" <= char <= "\udfff" for char in it.metadata):
            return "its metadata is not text that UTF-8 can carry"
        return commit_refusal(tp, it)

    def _fetched(
        self, tp: TopicPartition, answer: of.OffsetFetchedPartition | None
    ) -> FetchedOffset:
        if answer is None:
            reason = "the coordinator's answer leaves it out"
        elif answer.error_code:
            reason = _told(answer.error_code)
        elif not is_committed_offset(answer.offset):
            reason = f"{answer.offset} is no offset"
        elif answer.offset < 0:
            return FetchedOffset(None)
        else:
            return FetchedOffset(answer.offset, metadata=answer.metadata)
        return FetchedOffset(None, f"group {self._group_id}: offset of {tp} in Kafka: {reason}")


class _Fetch:
    """The exchange of a fetch. ``answers``: what came for each partition."""

    def __init__(self, group_id: str, partitions: Iterable[TopicPartition]) -> None:
        topics = tuple(
            of.OffsetFetchTopic(topic=topic, partitions=tuple(tp.partition for tp in of_topic))
            for topic, of_topic in _by_topic(partitions).items()
        )
        self._request = of.OffsetFetchRequest(group_id=group_id, topics=topics)
        self._unknown_tries = 0
        self.answers: dict[TopicPartition, of.OffsetFetchedPartition] = {}
        self.broker = ""

    def __call__(self, ask: Asking) -> Verdict:
        response = ask.request_hedged(self._request, version=_FETCH_VERSION)
        self.broker = str(ask.broker)
        self.answers = {
            TopicPartition(topic.topic, one.partition): one
            for topic in response.topics
            for one in topic.partitions
        }
        codes = {one.error_code for one in self.answers.values()}
        verdict = judge(codes)
        if verdict is Verdict.DONE and ErrorCode.UNKNOWN_TOPIC_OR_PARTITION in codes:
            self._unknown_tries += 1
            if self._unknown_tries < UNKNOWN_TRIES:
                return Verdict.ASK_AGAIN
        return verdict


class _Commit:
    """The exchange of a commit. ``answers``: the last error code of each partition."""

    def __init__(self, group_id: str, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        self._group_id = group_id
        self._offsets = offsets
        self.answers: dict[TopicPartition, int] = {}

    def __call__(self, ask: Asking) -> Verdict:
        """Write all, or what failed before for a reason that passes."""
        due = [tp for tp in self._offsets if tp not in self.answers or passes(self.answers[tp])]
        topics = tuple(
            oc.OffsetCommitTopic(topic=topic, partitions=tuple(map(self._entry, of_topic)))
            for topic, of_topic in _by_topic(due).items()
        )
        request = oc.OffsetCommitRequest(group_id=self._group_id, topics=topics)
        response = ask.request(request, version=_COMMIT_VERSION)
        for topic in response.topics:
            for one in topic.partitions:
                self.answers[TopicPartition(topic.topic, one.partition)] = one.error_code
        return judge(self.answers.get(tp, ErrorCode.NONE) for tp in due)

    def _entry(self, tp: TopicPartition) -> oc.OffsetCommitPartition:
        it = self._offsets[tp]
        return oc.OffsetCommitPartition(
            partition=tp.partition, offset=it.offset, metadata=it.metadata
        )


def _by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[TopicPartition]]:
    topics: dict[str, list[TopicPartition]] = {}
    for tp in dict.fromkeys(partitions):
        topics.setdefault(tp.topic, []).append(tp)
    return topics


def _told(code: int) -> str:
    known = ErrorCode.of(code)
    advice = _ADVICE.get(known)
    return f"{error_name(code)}: {known.text}" + (f": {advice}" if advice else "")


def _result(code: int | None, failure: str | None) -> str | None:
    """What became of a commit: its last error code, and how a try after that failed."""
    if code is None:
        return "the coordinator's answer leaves it out"
    if failure is not None and passes(code):
        return failure
    return _told(code) if code else None
