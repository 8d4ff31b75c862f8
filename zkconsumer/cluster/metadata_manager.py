"""Keeps a view of the cluster current: the thread that asks for metadata.

Source: Kafka 3.9 ``Metadata``, ``NetworkClient.DefaultMetadataUpdater``.
"""

import logging
import threading
from collections.abc import Callable
from functools import partial

from zkconsumer.clock import Clock, SystemClock
from zkconsumer.cluster.cluster_client import ClusterClient
from zkconsumer.cluster.new_partitions import LEAST_LAPSE_MS, NewPartitions
from zkconsumer.cluster.refresh_pace import RefreshPace
from zkconsumer.cluster.vanished import VanishedTopics
from zkconsumer.cluster.view import NOTHING_KNOWN, ClusterView, kept_current
from zkconsumer.error_codes import ErrorCode
from zkconsumer.errors import AuthenticationFailed, ZkConsumerError, without_frames
from zkconsumer.model import TopicPartition
from zkconsumer.repeats import Repeats
from zkconsumer.scope import Mailbox, ThreadScope, naps

log = logging.getLogger(__name__)

_ABOUT = "asking for metadata"


class MetadataManager:
    """Asks for metadata when it is old, when somebody wants more of it, and when it proved wrong.

    It rests until ``begin``, ``watch`` or ``update`` is called. Thread: any.

    Args:
        client: asks.
        scope: owns the thread.
        refresh_ms: ``metadata.max.age.ms``: how old a view may get.
        backoff_ms: ``retry.backoff.ms``: between two questions, at least; see ``RefreshPace``.
        on_change: told every view that differs from the one before, in the keeper's thread; it
            must not block.
        on_failure: told why nobody answers, each time anew, in the keeper's thread; as above.
        metadata_timeout_ms: how long one question may take, all tries included.
        allow_auto_create: let brokers that are set up so create what is watched and missing.
        clock: for ages.

    Attributes:
        view: the last one; empty before the first.
        failure: why nobody answered the last question; None where somebody did.
    """

    def __init__(  # noqa: PLR0913 - one part a line, all by name
        self,
        client: ClusterClient,
        scope: ThreadScope,
        *,
        refresh_ms: int,
        on_change: Callable[[ClusterView], None],
        on_failure: Callable[[ZkConsumerError], None] = lambda _: None,
        backoff_ms: int = 100,
        metadata_timeout_ms: int = 30_000,
        allow_auto_create: bool = False,
        clock: Clock | None = None,
    ) -> None:
        self.view: ClusterView = NOTHING_KNOWN
        self.failure: ZkConsumerError | None = None
        self._client = client
        self._pace = RefreshPace(refresh_ms=refresh_ms, backoff_ms=backoff_ms)
        self._metadata_timeout_ms = metadata_timeout_ms
        self._view_of = client.view
        if allow_auto_create:
            self._view_of = partial(client.view, allow_auto_create=True)
        self._on_change = on_change
        self._on_failure = on_failure
        self._clock = clock or SystemClock()
        self._repeats = Repeats(log, self._clock)
        self._watched: frozenset[str] | None = frozenset()
        self._reported_topics: set[str] = set()
        self._vanished = VanishedTopics()
        self._new = NewPartitions(max(LEAST_LAPSE_MS, 2 * refresh_ms))
        self._sent_ms: int | None = None
        self._wanted = False
        self._stopped = False
        self._wake: Mailbox[None] = Mailbox()
        # Reentrant: a signal handler may interrupt a call of it with another one.
        self._lock = threading.RLock()
        self._waiting: set[Mailbox[None]] = set()
        scope.spawn("metadata", self._run, stop=self.stop)

    def begin(self, topics: frozenset[str], *, timeout_ms: int) -> None:
        """Ask about these topics in the caller's thread, and watch them from now on.

        To be called before anything else is, if at all: what others hear of it comes in this
        thread, too.

        Args:
            topics: to know about; with none it is the brokers alone.
            timeout_ms: for all tries together.

        Raises:
            ZkConsumerError: nobody answered, or not as is needed; see ``ClusterClient.view``.
        """
        with self._lock:
            self._watched = topics
            self._new.watch(topics)
        sent_ms = self._clock.now_ms()
        view = self._view_of(topics, timeout_ms=timeout_ms)
        self._take(view, topics, self._clock.now_ms() - sent_ms)
        self._sent_ms = sent_ms
        self._wake.put(None)

    def watch(self, topics: frozenset[str] | None) -> None:
        """Know about these topics from now on; None: about all. Asks at once, if it is more."""
        with self._lock:
            before = self._watched
            self._watched = topics
            grows = before is not None and (topics is None or bool(topics - before))
            self._new.watch(topics)
        if grows:
            self.update()

    def is_new(self, tp: TopicPartition) -> bool | None:
        """Whether it came to be since its topic is watched; None: nobody has answered yet."""
        with self._lock:
            if self._watched is not None and tp.topic not in self._watched:
                return False
            return self._new.is_new(tp, self._clock.now_ms())

    def update(self) -> None:
        """Ask soon: what is known proved wrong, or is not enough."""
        self._wanted = True
        self._wake.put(None)

    def wait_for(self, ready: Callable[[ClusterView], bool], timeout_ms: int) -> bool:
        """Wait until a view is as wanted; whether it is. Does not ask by itself.

        Ends early, with False, when the keeper stops.
        """
        mailbox: Mailbox[None] = Mailbox()
        deadline_ms = self._clock.now_ms() + timeout_ms
        self._waiting.add(mailbox)
        try:
            while not ready(self.view):
                left_ms = deadline_ms - self._clock.now_ms()
                if left_ms <= 0 or self._stopped:
                    return False
                mailbox.get(next(naps(left_ms)))
            return True
        finally:
            self._waiting.discard(mailbox)

    def stop(self) -> None:
        """Ask the thread to end, also while it waits for an answer. Idempotent.

        That stops the client, too: whoever else asks with it has to be done by then.
        """
        self._stopped = True
        self._client.stop()
        self._wake.put(None)
        self._wake_waiting()

    def _run(self) -> None:
        while self._rest():
            # Before asking: what is wanted from here on may not be in the answer.
            self._wanted = False
            self._wake.drain()
            self._sent_ms = self._clock.now_ms()
            self._request()

    def _rest(self) -> bool:
        """Wait until it is time to ask; False: to end."""
        while not self._stopped:
            now_ms, sent_ms = self._clock.now_ms(), self._sent_ms
            if sent_ms is None:
                left_ms = None if not self._wanted else 0
            else:
                left_ms = sent_ms + self._pace.interval_ms(wanted=self._wanted) - now_ms
            if left_ms is not None and left_ms <= 0:
                return True
            self._wake.get(left_ms)
        return False

    def _request(self) -> None:
        watched = self._watched
        began_ms = self._clock.now_ms()
        try:
            view = self._view_of(watched, timeout_ms=self._metadata_timeout_ms)
        except ZkConsumerError as error:
            if self._stopped:
                return
            self._repeats.happened(_ABOUT, f"no metadata: {error}")
            self.failure = without_frames(error)
            self._pace.failed(refused=isinstance(error, AuthenticationFailed))
            self._on_failure(error)
        else:
            self._take(view, watched, self._clock.now_ms() - began_ms)
        self._wake_waiting()

    def _take(self, view: ClusterView, watched: frozenset[str] | None, took_ms: int) -> None:
        """Somebody answered, after so long."""
        self.failure = None
        self._repeats.works(_ABOUT)
        before = self.view
        now_ms = self._clock.now_ms()
        current = self._vanished.kept(before, kept_current(before, view), watched, now_ms)
        with self._lock:
            # Before it is published: who acts on a partition may ask whether it is new.
            self._new.saw(current, watched, now_ms)
            # What is not watched any more was forgotten, and is not to come back with this.
            self._new.watch(self._watched)
        self.view = current
        missing = _is_missing(view) or self._vanished.some
        self._pace.on_response(missing=missing, took_ms=took_ms)
        self._report_missing(view)
        if self.view != before:
            self._on_change(self.view)

    def _report_missing(self, view: ClusterView) -> None:
        """Say once of a topic that it isn't there: a misspelt name looks like an empty one.

        Not of one that was there before: brokers that start know of nothing for a moment.
        """
        self._reported_topics |= view.partitions.keys()
        unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        missing = {topic for topic, code in view.errors.items() if code == unknown}
        for topic in sorted(missing - self._reported_topics):
            log.warning("topic %s does not exist, or may not be seen; it is asked for again", topic)
        self._reported_topics |= missing

    def _wake_waiting(self) -> None:
        for mailbox in self._waiting.copy():
            mailbox.put(None)


def _is_missing(view: ClusterView) -> bool:
    """Return whether some of it may be there later: a topic, or a leader."""
    return bool(view.leaderless) or any(
        ErrorCode.of(code).retriable for code in view.errors.values()
    )
