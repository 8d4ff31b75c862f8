"""Incremental fetch sessions (KIP-227): omit from a request what the broker knows. Pure.

The first fetch of a session names all partitions; each later one names only those that are new,
changed, or no longer wanted. The response covers only those with news. What the broker knows is
certain only once it has responded: after a lost response, or an error, every partition is named
again.

From version 13 on topics are named by their ids (KIP-516).

Source: Kafka 3.9 ``FetchSessionHandler``, ``FetchMetadata``.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Final

from zkconsumer.error_codes import ErrorCode
from zkconsumer.fetch.core.completed import PartitionRequest
from zkconsumer.model import TopicPartition
from zkconsumer.wire.absent import NO_TOPIC_ID
from zkconsumer.wire.messages.fetch import FIRST_EPOCH, NO_SESSION, SESSIONLESS_EPOCH

_LAST_EPOCH: Final = (1 << 31) - 1

FIRST_VERSION: Final = 7
"""The first version of Fetch with sessions (Kafka 1.1)."""

Terms = tuple[int, int, int, int]
"""The values that a broker stores for a partition: offset, size, both epochs."""


@dataclass(frozen=True, slots=True, eq=False)
class SessionStep:
    """Hold one request's part of the session.

    Attributes:
        session_id, epoch: the ids to send.
        send: the partitions to name.
        forget: those that leave the session.
        requests: every partition that is wanted, named or not.
        topic_ids: the ids of all these topics, if they are named by id; else empty.
    """

    session_id: int
    epoch: int
    send: Mapping[TopicPartition, PartitionRequest]
    forget: tuple[TopicPartition, ...]
    requests: Mapping[TopicPartition, PartitionRequest]
    topic_ids: Mapping[str, bytes] = field(default_factory=dict)

    @property
    def by_id(self) -> bool:
        """Whether the request names topics by id."""
        return bool(self.topic_ids)

    def topic_id(self, topic: str) -> bytes:
        """Return the id that names a topic; zeros if topics are named by name."""
        return self.topic_ids.get(topic, NO_TOPIC_ID)

    @property
    def is_full(self) -> bool:
        """Whether the response covers all partitions, not only those with news."""
        return self.epoch in (FIRST_EPOCH, SESSIONLESS_EPOCH)


def without_session(
    wanted: Mapping[TopicPartition, PartitionRequest], topic_ids: Mapping[str, bytes]
) -> SessionStep:
    """Return the step of a request for all these partitions, outside of any session.

    Args:
        wanted: the partitions.
        topic_ids: see ``SessionStep``.
    """
    return SessionStep(NO_SESSION, SESSIONLESS_EPOCH, wanted, (), wanted, topic_ids)


class FetchSessionState:
    """Track which of our partitions one broker has in its fetch session. Thread: one."""

    def __init__(self) -> None:
        self._session_id = NO_SESSION
        self._epoch = FIRST_EPOCH
        self._known: dict[TopicPartition, Terms] = {}
        self._topic_ids: dict[str, bytes] = {}

    def next(
        self,
        wanted: Mapping[TopicPartition, PartitionRequest],
        *,
        has_sessions: bool = True,
        by_id: bool = False,
    ) -> SessionStep:
        """Return the next request's part of the session, for all these partitions.

        A session names its topics either by name or by id, and a topic keeps its id in it; if
        either changes, a new session begins.

        Args:
            wanted: the partitions, in the order in which they are to be served.
            has_sessions: whether the broker supports sessions.
            by_id: whether to name topics by id; all ids are known then.
        """
        ids = {tp.topic: one.topic_id for tp, one in wanted.items() if one.topic_id and by_id}
        if not has_sessions:
            self._forget_session(NO_SESSION)
            return without_session(wanted, ids)
        if self._epoch != FIRST_EPOCH and not self._goes_on_with(ids):
            self._forget_session(self._session_id)
        if self._epoch == FIRST_EPOCH:
            return SessionStep(self._session_id, FIRST_EPOCH, wanted, (), wanted, ids)
        changed = {tp: one for tp, one in wanted.items() if self._known.get(tp) != _terms(one)}
        gone = tuple(tp for tp in self._known if tp not in wanted)
        ids = self._topic_ids | ids
        return SessionStep(self._session_id, self._epoch, changed, gone, wanted, ids)

    def on_response(
        self, step: SessionStep, error_code: int, session_id: int, about: Collection[TopicPartition]
    ) -> bool:
        """Apply the session id and error code of a response.

        Args:
            step: the session part of the request.
            error_code: error code of the whole response.
            session_id: session id in the response.
            about: the partitions in the response.

        Returns:
            Whether the response's partition data counts.
        """
        if step.epoch == SESSIONLESS_EPOCH:
            return error_code == ErrorCode.NONE
        if error_code != ErrorCode.NONE:
            # The broker evicted the session in favour of others; or its epoch of the session is
            # not ours: then the request for a new session closes the old one.
            lost = error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
            self._forget_session(NO_SESSION if lost else step.session_id)
            return False
        if step.is_full:
            return self._begun(step, session_id, about)
        if session_id != step.session_id or not set(about) <= step.requests.keys():
            self._forget_session(step.session_id)
            return False
        self._epoch = 1 if self._epoch == _LAST_EPOCH else self._epoch + 1
        for tp in step.forget:
            del self._known[tp]
        self._known.update((tp, _terms(one)) for tp, one in step.send.items())
        self._note_ids(step)
        return True

    def on_response_lost(self) -> None:
        """Forget the session after a lost response: the broker's state is unknown."""
        self._forget_session(self._session_id)

    def _begun(self, step: SessionStep, session_id: int, about: Collection[TopicPartition]) -> bool:
        """Start a session from a full fetch's response; without an id fetch in full again."""
        self._forget_session(session_id)
        if session_id != NO_SESSION and set(about) == step.requests.keys():
            self._epoch = FIRST_EPOCH + 1
            self._known = {tp: _terms(one) for tp, one in step.requests.items()}
            self._note_ids(step)
        return True

    def _goes_on_with(self, ids: Mapping[str, bytes]) -> bool:
        """Return whether these topic ids agree with those of the session."""
        known = self._topic_ids
        return bool(ids) == bool(known) and all(
            known.get(topic, one) == one for topic, one in ids.items()
        )

    def _note_ids(self, step: SessionStep) -> None:
        topics = {tp.topic for tp in self._known}
        self._topic_ids = {topic: one for topic, one in step.topic_ids.items() if topic in topics}

    def _forget_session(self, session_id: int) -> None:
        self._session_id = session_id
        self._epoch = FIRST_EPOCH
        self._known = {}
        self._topic_ids = {}


def _terms(requested: PartitionRequest) -> Terms:
    start = requested.start
    return start.offset, requested.max_bytes, requested.leader_epoch, start.leader_epoch
