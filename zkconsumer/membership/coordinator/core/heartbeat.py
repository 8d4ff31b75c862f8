"""Computes when to send a heartbeat, and when silence is a failure; has no clock of its own.

Three silences are distinguished: the coordinator's (``session.timeout.ms`` without a response: it
may be gone), the caller's (``max.poll.interval.ms`` without a poll: it is stuck), and our own,
which the coordinator measures (so membership is certain only for the session timeout after the
last request that it responded to).

Source: Kafka ``Heartbeat``, KIP-62.
"""

from zkconsumer.membership.coordinator.core.states import GroupSettings


class Heartbeat:
    """The heartbeat times of one member, in milliseconds of the caller's clock."""

    def __init__(self, settings: GroupSettings) -> None:
        self._settings = settings
        self._session_timeout_ms = settings.session_timeout_ms
        self._rebalance_timeout_ms = settings.max_poll_interval_ms
        self._next_send_ms = 0
        self._sent_ms = 0
        self._last_response_ms = 0
        self._polled_ms = 0
        self._confirmed_ms: int | None = None
        self._calm_ms = 0
        self._rebalancing = False
        self.in_flight = False

    def set_timeouts(self, *, session_timeout_ms: int, rebalance_timeout_ms: int) -> None:
        """Set the timeouts that were agreed with the coordinator."""
        self._session_timeout_ms = session_timeout_ms
        self._rebalance_timeout_ms = rebalance_timeout_ms

    # --- events -------------------------------------------------------------------------

    def on_poll(self, now_ms: int) -> None:
        """Record a poll of the caller."""
        self._polled_ms = now_ms

    def on_joined(self, sent_ms: int, now_ms: int) -> None:
        """Record the response to a request sent at ``sent_ms`` that counts as a heartbeat.

        A heartbeat in flight belongs to an earlier generation.
        """
        self.in_flight = False
        self._rebalancing = False
        self._last_response_ms = now_ms
        self._next_send_ms = now_ms + self._settings.heartbeat_interval_ms
        self.on_confirmed(sent_ms)

    def on_coordinator_found(self, now_ms: int) -> None:
        """Record that a coordinator was found; allow a full session timeout, send a heartbeat now.

        Waiting for the interval would waste time that the old coordinator's count leaves us.
        """
        self.in_flight = False
        self._last_response_ms = now_ms
        self._next_send_ms = now_ms

    def on_sent(self, now_ms: int) -> None:
        """Record that a heartbeat was sent."""
        self.in_flight = True
        self._sent_ms = now_ms
        self._next_send_ms = now_ms + self._settings.heartbeat_interval_ms

    def on_response(self, now_ms: int, *, rebalancing: bool = False) -> None:
        """Record a heartbeat's response: we are a member; ``rebalancing``: we must join again."""
        self.in_flight = False
        self._last_response_ms = now_ms
        self._rebalancing = rebalancing
        self.on_confirmed(self._sent_ms)

    def on_failed(self, now_ms: int) -> None:
        """Record that the heartbeat in flight failed; send the next after a short pause."""
        self.in_flight = False
        self._next_send_ms = now_ms + self._settings.retry_backoff_ms

    def on_confirmed(self, sent_ms: int) -> None:
        """Record that the coordinator knew the member when it got a request sent at ``sent_ms``."""
        if self._confirmed_ms is None or sent_ms > self._confirmed_ms:
            self._confirmed_ms = sent_ms
        if not self._rebalancing:
            self._calm_ms = sent_ms

    def void(self) -> None:
        """Record that the member is in no generation."""
        self.in_flight = False
        self._confirmed_ms = None

    # --- deadlines ----------------------------------------------------------------------

    def is_due(self, now_ms: int) -> bool:
        """Return whether to send a heartbeat now; only one is in flight at a time."""
        return not self.in_flight and now_ms >= self._next_send_ms

    def is_session_expired(self, now_ms: int) -> bool:
        """Return whether the coordinator has been silent for too long."""
        return now_ms >= self._session_deadline_ms

    def is_poll_expired(self, now_ms: int) -> bool:
        """Return whether the caller has been silent for too long."""
        return now_ms >= self.poll_deadline_ms

    @property
    def poll_deadline_ms(self) -> int:
        """The time at which the poll interval ends."""
        return self._polled_ms + self._settings.max_poll_interval_ms

    @property
    def _session_deadline_ms(self) -> int:
        return self._last_response_ms + self._session_timeout_ms

    def next_deadline_ms(self) -> int:
        """Return when to check again, while heartbeats are sent."""
        if self.in_flight:
            return self._session_deadline_ms
        return min(self._next_send_ms, self._session_deadline_ms)

    @property
    def trusted_until_ms(self) -> int | None:
        """The time before which the coordinator can't have expired the member.

        None: the member is in no generation. Counted from when a request was *sent*: the
        coordinator counts from when it received it, which is never earlier. A member that sends
        heartbeats but does not rejoin is removed as well: the rebalance began no earlier than the
        last request whose response was not REBALANCE_IN_PROGRESS.
        """
        if self._confirmed_ms is None:
            return None
        until_ms = self._confirmed_ms + self._session_timeout_ms
        if not self._rebalancing:
            return until_ms
        return min(until_ms, self._calm_ms + self._rebalance_timeout_ms)
