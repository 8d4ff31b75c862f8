"""The thread that takes part in rebalances: JoinGroup and SyncGroup, which may take long.

It has a connection of its own, so that neither heartbeats nor commits queue behind them; the
connection lasts from JoinGroup to SyncGroup. A newer step interrupts an older one (``JoinSteps``).
"""

import logging
import threading
from collections.abc import Callable, Mapping

from zkconsumer.cluster.cluster_client import ClusterClient
from zkconsumer.error_codes import ErrorCode
from zkconsumer.errors import (
    AuthenticationFailed,
    TransportError,
    UnsupportedVersion,
    ZkConsumerError,
)
from zkconsumer.membership.coordinator.core import events as ev
from zkconsumer.membership.coordinator.core import requests
from zkconsumer.membership.coordinator.core.terms import changed
from zkconsumer.membership.coordinator.threads.caller import Caller
from zkconsumer.membership.coordinator.threads.coordinator_connection import (
    CoordinatorAddress,
)
from zkconsumer.membership.coordinator.threads.member_session import MemberSession
from zkconsumer.membership.coordinator.threads.orders import JoinSteps
from zkconsumer.net.negotiated import NegotiatedConnection
from zkconsumer.wire.messages.group_members import JoinGroupRequest, JoinGroupResponse

log = logging.getLogger(__name__)

Topics = dict[str, tuple[int, ...]]

_GRACE_MS = 5_000
"""How much longer a JoinGroup may take than the rebalance; Kafka's ``JOIN_GROUP_TIMEOUT_LAPSE``."""

_OLD_SESSION_MS = 30_000
"""The longest session timeout that brokers of 0.9 allow by default."""


_CONTINUES = frozenset({ErrorCode.NONE, ErrorCode.MEMBER_ID_REQUIRED})
"""The error codes of JoinGroup after which the next request is sent at once."""


class JoinThread:
    """The body of the thread that joins the group.

    Args:
        cluster: looks up the metadata that the leader of the group needs.
        on_group_topics: called with the topics of all members when we assign partitions, and with
            none when we no longer do.
    """

    def __init__(
        self,
        session: MemberSession,
        steps: JoinSteps,
        caller: Caller,
        cluster: ClusterClient,
        on_group_topics: Callable[[frozenset[str]], None],
    ) -> None:
        settings = session.terms.settings
        self._session = session
        self._steps = steps
        self._caller = caller
        self._cluster = cluster
        self._request_timeout_ms = settings.request_timeout_ms
        self._on_group_topics = on_group_topics
        self._session_ms = settings.session_timeout_ms
        self._rebalance_ms = settings.max_poll_interval_ms
        self._waits_ms = self._rebalance_ms + _GRACE_MS
        # Reentrant: a signal handler may close the consumer in the middle of ``forget_topics``.
        self._leading = threading.RLock()
        self._led_topics: Topics = {}
        self._stopped = False

    def run(self) -> None:
        """Execute steps until ``stop``."""
        while not self._stopped:
            item = self._steps.get()
            if item is not None and not self._stopped:
                self._execute(*item)

    def stop(self) -> None:
        """End ``run`` soon, whatever the network does. Thread: any."""
        self._stopped = True
        self._steps.stop()

    def _execute(self, step: ev.JoinStep, address: CoordinatorAddress | None) -> None:
        if isinstance(step, ev.Assign):
            self._session.notify(self._assign(step))
        elif address is not None and self._steps.begin(step):
            event, cause = self._request(step, address)
            wanted = self._steps.end(step)
            if event is not None:
                if not (isinstance(event, ev.JoinCompleted) and event.code in _CONTINUES):
                    self._steps.connection.cut()
                self._session.notify(event, cause=cause)
            elif wanted:
                self._session.on_connection_lost(address, str(cause))

    def _request(
        self, step: ev.SendJoin | ev.SendSync, address: CoordinatorAddress
    ) -> tuple[ev.Event | None, Exception | None]:
        """Return the response's event, if any; and the error, if any."""
        try:
            connection = self._steps.connection.connection(address)
            if not self._steps.is_current(step):
                return None, None
            if isinstance(step, ev.SendJoin):
                return self._join(step, connection), None
            return self._sync(step, connection), None
        except TransportError as error:
            return None, error
        except AuthenticationFailed as error:
            # Report it as a broken connection, so that the member survives a temporary failure.
            self._caller.fail(error)
            return None, error
        except UnsupportedVersion as error:
            static = self._session.terms.settings.instance_id is not None
            advise = requests.too_old_for_static if static else requests.too_old
            cause = UnsupportedVersion(advise(error))
            return self._refused(step, ErrorCode.UNSUPPORTED_VERSION), cause
        except ZkConsumerError as error:
            return self._refused(step, ErrorCode.INVALID_REQUEST), error

    @staticmethod
    def _refused(step: ev.SendJoin | ev.SendSync, code: ErrorCode) -> ev.Event:
        if isinstance(step, ev.SendJoin):
            return ev.JoinCompleted(round=step.round, code=code)
        return ev.SyncCompleted(step.round, code)

    # --- JoinGroup ----------------------------------------------------------------------

    def _join(self, step: ev.SendJoin, connection: NegotiatedConnection) -> ev.JoinCompleted:
        least = requests.least_version(self._session.terms, since=requests.STATIC_MEMBERS_SINCE)
        version = connection.version_of(JoinGroupRequest, at_least=least)
        self._set_timeouts(version)
        response = self._send_join(step, connection, version)
        too_long = self._session_ms > _OLD_SESSION_MS
        if response.error_code == ErrorCode.INVALID_SESSION_TIMEOUT and version == 0 and too_long:
            log.warning(
                "%s: the broker rejected session.timeout.ms=%d: retrying with %d, the longest "
                "that brokers of 0.9 accept by default",
                self._session.terms.name,
                self._session_ms,
                _OLD_SESSION_MS,
            )
            self._session_ms = _OLD_SESSION_MS
            self._set_timeouts(version)
            response = self._send_join(step, connection, version)
        result, unreadable = requests.join_completed(step, response)
        for member_id, why in unreadable.items():
            log.error(
                "%s: member %s gets no partitions: its subscription can't be read: %s",
                self._session.terms.name,
                member_id,
                why,
            )
        if result.code == ErrorCode.NONE:
            self._session.location.on_response()
        self._note_leader(result)
        return result

    def _set_timeouts(self, version: int) -> None:
        """Set the time-outs that the coordinator enforces; version 0 has a single one for both."""
        rebalance_ms = self._session_ms if version == 0 else self._rebalance_ms
        self._waits_ms = rebalance_ms + _GRACE_MS
        self._session.set_timeouts(self._session_ms, rebalance_ms)

    def _send_join(
        self, step: ev.SendJoin, connection: NegotiatedConnection, version: int
    ) -> JoinGroupResponse:
        request = requests.join_request(
            self._session.terms,
            step,
            session_timeout_ms=self._session_ms,
            rebalance_timeout_ms=self._rebalance_ms,
        )
        return connection.call(
            request, timeout_ms=self._waits_ms, at_least=version, at_most=version
        )

    def _note_leader(self, result: ev.JoinCompleted) -> None:
        if result.code != ErrorCode.NONE:
            return
        if result.leader_id != result.member_id:
            self.forget_topics()
        elif result.skip_assignment:
            # The assignment stays; we only begin to watch the topics.
            assign = ev.Assign(result.round, result.protocol, result.members)
            try:
                self._watch_topics(requests.topics_of(assign))
            except ZkConsumerError as error:
                log.warning(
                    "%s: can't watch the group's topics: %s", self._session.terms.name, error
                )

    # --- the leader's work --------------------------------------------------------------

    def _assign(self, step: ev.Assign) -> ev.Event:
        try:
            partitions = self._watch_topics(requests.topics_of(step))
        except ZkConsumerError as error:
            return ev.AssignmentFailed(step.round, str(error))
        return ev.AssignmentMade(step.round, requests.shares_of(step, partitions))

    def _watch_topics(self, topics: frozenset[str]) -> Topics:
        """Start watching these topics, and return their partitions."""
        partitions: Topics = {}
        if topics:
            view = self._cluster.view(topics, timeout_ms=self._request_timeout_ms)
            partitions = {
                topic: view.partitions[topic] for topic in topics if topic in view.partitions
            }
        with self._leading:
            # If the caller has left meanwhile, the topics were forgotten, and must stay so.
            if self._session.subscription is not None:
                self._lead(topics, partitions)
        return partitions

    def _lead(self, topics: frozenset[str], partitions: Topics) -> None:
        self._led_topics = {topic: partitions.get(topic, ()) for topic in topics}
        self._on_group_topics(topics)

    def on_topics_changed(self, partitions: Mapping[str, tuple[int, ...]]) -> None:
        """Rejoin if the partitions of topics that we assign changed. Thread: any, one at a time."""
        led = self._led_topics
        now = {topic: partitions[topic] for topic in led if topic in partitions}
        if changed(led, now):
            led.update(now)
            self._session.notify(ev.RejoinTriggered(ev.JoinReason.TOPICS))

    def forget_topics(self) -> None:
        """Stop watching and comparing other members' topics until we assign again. Thread: any."""
        with self._leading:
            self._lead(frozenset(), {})

    # --- SyncGroup ----------------------------------------------------------------------

    def _sync(self, step: ev.SendSync, connection: NegotiatedConnection) -> ev.SyncCompleted:
        least = requests.least_version(self._session.terms, since=requests.STATIC_SYNC_SINCE)
        request = requests.sync_request(self._session.terms, step)
        response = connection.call(request, timeout_ms=self._waits_ms, at_least=least)
        return requests.sync_completed(step, response)
