"""Keeps a view of the cluster current with a thread that requests metadata.

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
from zkconsumer.scope import ThreadScope, WakeEvent

log = logging.getLogger(__name__)

_ABOUT = "refreshing metadata"


class MetadataManager:
    """Requests metadata when it is old, when more is needed, and when it proved wrong.

    It is idle until ``begin``, ``watch`` or ``update`` is called. Thread: any.

    Args:
        client: sends the requests.
        scope: owns the thread.
        refresh_ms: ``metadata.max.age.ms``: how old a view may get.
        backoff_ms: ``retry.backoff.ms``: minimum interval between requests; see ``RefreshPace``.
        on_change: called with every view that differs from the last one, in the manager's thread;
            must not block.
        on_failure: called with the error of each failed request, in the manager's thread; must not
            block.
        metadata_timeout_ms: how long one request may take, with all tries.
        allow_auto_create: let brokers create watched topics that are missing, if they are
            configured so.
        clock: measures the age of views.

    Attributes:
        view: the last view; empty before the first.
        failure: the error of the last request; None: it succeeded.
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
        self._has_new_topics = False
        self._stopped = False
        self._wake = WakeEvent()
        # Reentrant: a signal handler may interrupt one call with another.
        self._lock = threading.RLock()
        scope.spawn("metadata", self._run, stop=self.stop)

    def begin(self, topics: frozenset[str], *, timeout_ms: int) -> None:
        """Request the metadata of these topics in the caller's thread, and watch them.

        If called, this must be the first call; it calls ``on_change`` in the caller's thread.

        Args:
            topics: the topics; if empty, only the brokers are requested.
            timeout_ms: the limit of all tries together.

        Raises:
            ZkConsumerError: no usable response; see ``ClusterClient.view``.
        """
        with self._lock:
            self._watched = topics
            self._new.watch(topics)
        sent_ms = self._clock.now_ms()
        view = self._view_of(topics, timeout_ms=timeout_ms)
        self._take(view, topics, self._clock.now_ms() - sent_ms)
        self._sent_ms = sent_ms
        self._wake.notify()

    def watch(self, topics: frozenset[str] | None) -> None:
        """Watch these topics from now on; None: all.

        Added topics are requested at once, unless the last request failed, since nothing can be
        fetched from them before.

        Source: Kafka 3.9 ``Metadata.requestUpdateForNewTopics``.
        """
        with self._lock:
            before = self._watched
            self._watched = topics
            grows = before is not None and (topics is None or bool(topics - before))
            self._new.watch(topics)
        if grows:
            self._has_new_topics = True
            self.update()

    def is_new(self, tp: TopicPartition) -> bool | None:
        """Return whether a partition is newer than our watch of its topic; None: unknown."""
        with self._lock:
            if self._watched is not None and tp.topic not in self._watched:
                return False
            return self._new.is_new(tp, self._clock.now_ms())

    def update(self) -> None:
        """Request metadata soon, since the last view proved wrong or incomplete."""
        self._wanted = True
        self._wake.notify()

    def stop(self) -> None:
        """Signal the thread to end, even while it waits for a response. Idempotent.

        This stops the client, too: its other users must be done by then.
        """
        self._stopped = True
        self._client.stop()
        self._wake.notify()

    def _run(self) -> None:
        while self._await_next():
            # Before the request: topics added from here on may be missing in its response.
            self._wanted = self._has_new_topics = False
            self._wake.clear()
            self._sent_ms = self._clock.now_ms()
            self._request()

    def _await_next(self) -> bool:
        """Wait until a request is due; return False to end."""
        while not self._stopped:
            left_ms = self._left_ms()
            if left_ms is not None and left_ms <= 0:
                return True
            self._wake.wait(left_ms)
        return False

    def _left_ms(self) -> int | None:
        """Return how long to wait before the next request; None: until one is wanted."""
        if self._sent_ms is None:
            return 0 if self._wanted else None
        interval_ms = self._pace.interval_ms(
            wanted=self._wanted, has_new_topics=self._has_new_topics
        )
        return self._sent_ms + interval_ms - self._clock.now_ms()

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

    def _take(self, view: ClusterView, watched: frozenset[str] | None, took_ms: int) -> None:
        """Publish a view that was received after ``took_ms``."""
        self.failure = None
        self._repeats.works(_ABOUT)
        before = self.view
        now_ms = self._clock.now_ms()
        current = self._vanished.kept(before, kept_current(before, view), watched, now_ms)
        with self._lock:
            # Before the view is published: users of it may call ``is_new``.
            self._new.record(current, watched, now_ms)
            # Forget topics that are no longer watched.
            self._new.watch(self._watched)
        self.view = current
        missing = _is_missing(view) or self._vanished.some
        self._pace.on_response(missing=missing, took_ms=took_ms)
        self._report_missing(view)
        if self.view != before:
            self._on_change(self.view)

    def _report_missing(self, view: ClusterView) -> None:
        """Log once that a topic does not exist: a misspelt name looks like an empty topic.

        Topics that existed before are not logged: brokers that have just started know no topics for
        a moment.
        """
        self._reported_topics |= view.partitions.keys()
        unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        missing = {topic for topic, code in view.errors.items() if code == unknown}
        for topic in sorted(missing - self._reported_topics):
            log.warning(
                "topic %s does not exist, or this client may not describe it; retrying", topic
            )
        self._reported_topics |= missing


def _is_missing(view: ClusterView) -> bool:
    """Return whether a topic or a leader is missing, and may appear later."""
    return bool(view.leaderless) or any(
        ErrorCode.of(code).retriable for code in view.errors.values()
    )
