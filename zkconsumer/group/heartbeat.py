"""When to send a heartbeat, and when silence means something: arithmetic, no clock.

Three silences are told apart: the coordinator's (``session.timeout.ms`` without an answer: it may
be gone), the caller's (``max.poll.interval.ms`` without a poll: it is stuck), and our own, which
the coordinator counts (so we are sure of being a member only for the session's time after the
last request that it answered).

Source: Kafka ``Heartbeat``, KIP-62.
"""

from zkconsumer.group.states import GroupSettings


class Heartbeat:
    """The times of one member; all in milliseconds of the caller's clock."""

    def __init__(self, settings: GroupSettings) -> None:
        self._settings = settings
        self._next_send_ms = 0
        self._sent_ms = 0
        self._last_response_ms = 0
        self._polled_ms = 0
        self._confirmed_ms: int | None = None
        self._calm_ms = 0
        self._rebalancing = False
        self.in_flight = False

    def agreed(self, settings: GroupSettings) -> None:
        """The coordinator counts by these times from now on."""
        self._settings = settings

    # --- what happens -------------------------------------------------------------------

    def polled(self, now_ms: int) -> None:
        """The caller is alive."""
        self._polled_ms = now_ms

    def joined(self, sent_ms: int, now_ms: int) -> None:
        """The coordinator answered a request of ``sent_ms`` that counts as a heartbeat.

        What was in flight before belongs to an earlier generation.
        """
        self.in_flight = False
        self._rebalancing = False
        self._last_response_ms = now_ms
        self._next_send_ms = now_ms + self._settings.heartbeat_interval_ms
        self.confirmed(sent_ms)

    def found(self, now_ms: int) -> None:
        """A coordinator was found: it gets a whole session's time to answer, and is asked at once.

        Waiting for the interval would shorten the time left under the old coordinator's count.
        """
        self.in_flight = False
        self._last_response_ms = now_ms
        self._next_send_ms = now_ms

    def sent(self, now_ms: int) -> None:
        """A heartbeat was sent."""
        self.in_flight = True
        self._sent_ms = now_ms
        self._next_send_ms = now_ms + self._settings.heartbeat_interval_ms

    def on_response(self, now_ms: int, *, rebalancing: bool = False) -> None:
        """The heartbeat in flight was answered: we are a member, though perhaps a late one."""
        self.in_flight = False
        self._last_response_ms = now_ms
        self._rebalancing = rebalancing
        self.confirmed(self._sent_ms)

    def failed(self, now_ms: int) -> None:
        """The heartbeat in flight failed; the next one does not wait for the whole interval."""
        self.in_flight = False
        self._next_send_ms = now_ms + self._settings.retry_backoff_ms

    def confirmed(self, sent_ms: int) -> None:
        """The coordinator knew us after ``sent_ms``."""
        if self._confirmed_ms is None or sent_ms > self._confirmed_ms:
            self._confirmed_ms = sent_ms
        if not self._rebalancing:
            self._calm_ms = sent_ms

    def void(self) -> None:
        """We are in no generation any more."""
        self.in_flight = False
        self._confirmed_ms = None

    # --- what follows -------------------------------------------------------------------

    def due(self, now_ms: int) -> bool:
        """Return whether to send a heartbeat now; only one is in flight at a time."""
        return not self.in_flight and now_ms >= self._next_send_ms

    def session_expired(self, now_ms: int) -> bool:
        """Return whether the coordinator has been silent for too long."""
        return now_ms >= self._session_deadline_ms

    def poll_expired(self, now_ms: int) -> bool:
        """Return whether the caller has been silent for too long."""
        return now_ms >= self.poll_deadline_ms

    @property
    def poll_deadline_ms(self) -> int:
        """By when the caller must poll."""
        return self._polled_ms + self._settings.max_poll_interval_ms

    @property
    def _session_deadline_ms(self) -> int:
        return self._last_response_ms + self._settings.session_timeout_ms

    def next_deadline_ms(self) -> int:
        """When to look again, while heartbeats are sent."""
        if self.in_flight:
            return self._session_deadline_ms
        return min(self._next_send_ms, self._session_deadline_ms)

    @property
    def trusted_until_ms(self) -> int | None:
        """Before this time the coordinator can't have thrown us out for being late.

        None: we are in no generation. Counted from when a request was *sent*: the coordinator
        counts from when it came in, which is never earlier. A member that heartbeats but does not
        come to a rebalance is thrown out as well; that began after the last calm answer's request.
        """
        if self._confirmed_ms is None:
            return None
        until_ms = self._confirmed_ms + self._settings.session_timeout_ms
        if not self._rebalancing:
            return until_ms
        limit_ms = self._settings.rebalance_timeout_ms
        if limit_ms is None:
            limit_ms = self._settings.max_poll_interval_ms
        return min(until_ms, self._calm_ms + limit_ms)
