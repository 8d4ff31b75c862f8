"""The thread that keeps a member in its group: heartbeats, commits, committed offsets.

It sleeps until the core has a deadline, a commit is due, or an order arrives.
"""

import logging
from functools import partial

from zkconsumer.cluster.cluster_client import ClusterClient
from zkconsumer.error_codes import ErrorCode
from zkconsumer.errors import (
    AuthenticationFailed,
    ConnectionLost,
    GroupFailed,
    RemoteProtocolError,
    TransportError,
    UnsupportedVersion,
    ZkConsumerError,
)
from zkconsumer.membership.coordinator.core import events as ev
from zkconsumer.membership.coordinator.core import requests
from zkconsumer.membership.coordinator.core.error_table import Handling, MembershipRequest, handling
from zkconsumer.membership.coordinator.threads.caller import Caller
from zkconsumer.membership.coordinator.threads.coordinator_connection import (
    CoordinatorAddress,
)
from zkconsumer.membership.coordinator.threads.offset_jobs import OffsetJobs
from zkconsumer.membership.coordinator.threads.offset_traffic import Located, OffsetTraffic
from zkconsumer.membership.coordinator.threads.orders import GroupOrders
from zkconsumer.wire.messages.group_members import LeaveGroupRequest, leave_request

log = logging.getLogger(__name__)


class GroupThread:
    """The body of the thread that sends heartbeats and commits.

    Args:
        orders: the orders for this thread.
        caller: is notified of errors, and when LeaveGroup has been sent.
    """

    def __init__(
        self,
        jobs: OffsetJobs,
        orders: GroupOrders,
        caller: Caller,
        cluster: ClusterClient,
    ) -> None:
        session = jobs.session
        self._session = session
        self._jobs = jobs
        self._orders = orders
        self._caller = caller
        self._cluster = cluster
        # A member that waits longer than its session for a response has been removed.
        settings = session.terms.settings
        self._timeout_ms = min(settings.request_timeout_ms, settings.session_timeout_ms)
        locate = partial(self._locate, for_offsets=True)
        self._offsets = OffsetTraffic(jobs, orders.connection, locate)
        self._stopped = False

    def run(self) -> None:
        """Execute orders until ``stop``."""
        while not self._stopped:
            order = self._orders.get(self._limit_ms())
            if order is not None and not self._stopped:
                self._execute(order)
            if not self._stopped:
                self._check_deadline()
                self._offsets.send_due()

    def stop(self) -> None:
        """End ``run`` soon, whatever the network does. Thread: any."""
        self._stopped = True
        self._orders.stop()

    def _limit_ms(self) -> int | None:
        dues = [self._session.deadline_ms(), self._jobs.next_due_ms()]
        due_ms = min((due_ms for due_ms in dues if due_ms is not None), default=None)
        return None if due_ms is None else max(0, due_ms - self._session.clock.now_ms())

    def _check_deadline(self) -> None:
        due_ms = self._session.deadline_ms()
        if due_ms is not None and self._session.clock.now_ms() >= due_ms:
            self._session.notify(ev.TimerExpired())

    def _execute(self, order: ev.GroupOrder) -> None:
        match order:
            case ev.FindCoordinator(round_):
                found = self._locate()
                if isinstance(found, CoordinatorAddress):
                    self._session.notify(ev.CoordinatorLocated(round_))
                else:
                    code = found if isinstance(found, int) else None
                    self._session.notify(ev.CoordinatorUnknown(round_, code))
            case ev.SendHeartbeat():
                self._beat(order)
            case ev.SendLeave():
                self._leave(order)

    def _locate(self, *, for_offsets: bool = False) -> Located:
        """Find the coordinator; for offsets, any broker if none coordinates (0.8.1)."""
        location = self._session.location
        if location.address is not None and (location.address.coordinates or for_offsets):
            return location.address
        if location.is_backing_off:
            return ConnectionLost("the connection to the coordinator broke repeatedly")
        try:
            return self._find(for_offsets=for_offsets)
        except AuthenticationFailed as error:
            self._caller.fail(error)
            return error
        except UnsupportedVersion as error:
            advise = requests.too_old_for_offsets if for_offsets else requests.too_old
            code = int(ErrorCode.UNSUPPORTED_VERSION)
            failure = GroupFailed(self._session.terms.group_id, advise(error), code=code)
            self._caller.fail(failure)
            return failure
        except ZkConsumerError as error:
            log.info("%s: no coordinator found: %s", self._session.terms.name, error)
            return error

    def _find(self, *, for_offsets: bool) -> CoordinatorAddress | int:
        terms, location = self._session.terms, self._session.location
        try:
            found = self._cluster.coordinator(terms.group_id, timeout_ms=self._timeout_ms)
        except UnsupportedVersion:
            if not for_offsets:
                raise
            broker = self._cluster.coordinator_of_offsets(timeout_ms=self._timeout_ms)
            log.info("%s: its offsets are in ZooKeeper, accessed through %s", terms.name, broker)
            return location.set_address(broker, coordinates=False)
        if isinstance(found, int):
            return found
        log.info("%s: its coordinator is %s", terms.name, found)
        return location.set_address(found)

    def _beat(self, order: ev.SendHeartbeat) -> None:
        session = self._session
        address = session.location.address
        if address is None:
            return
        least = requests.least_version(session.terms, since=requests.STATIC_BEATS_SINCE)
        try:
            response = self._orders.connection.connection(address).call(
                requests.heartbeat_request(session.terms, order),
                timeout_ms=self._timeout_ms,
                at_least=least,
            )
        except (AuthenticationFailed, TransportError, RemoteProtocolError) as error:
            name = session.terms.name
            if isinstance(error, AuthenticationFailed):
                self._caller.fail(error)
            elif isinstance(error, RemoteProtocolError):
                log.warning("%s: the response to a heartbeat cannot be read: %s", name, error)
            session.on_connection_lost(address, str(error))
        except ZkConsumerError as error:
            code = ErrorCode.UNSUPPORTED_VERSION
            result = ev.HeartbeatCompleted(order.member_id, order.generation, code)
            session.notify(result, cause=error)
        else:
            session.counts.heartbeats += 1
            session.counts.last_heartbeat_ms = session.clock.now_ms()
            error_code = response.error_code
            if handling(MembershipRequest.HEARTBEAT, error_code) is not Handling.RELOCATE:
                session.location.on_response()
            session.notify(ev.HeartbeatCompleted(order.member_id, order.generation, error_code))

    def _leave(self, order: ev.SendLeave) -> None:
        """Send LeaveGroup; a failure does not matter, as the session ends by itself."""
        session = self._session
        address = session.location.address
        try:
            if address is not None:
                connection = self._orders.connection.connection(address)
                version = connection.version_of(LeaveGroupRequest)
                request = leave_request(
                    session.terms.group_id, order.member_id, version=version, reason=order.reason
                )
                connection.call(request, timeout_ms=self._timeout_ms)
        except ZkConsumerError as error:
            log.info("%s: could not send LeaveGroup: %s", session.terms.name, error)
            is_lost = isinstance(error, TransportError | RemoteProtocolError)
            if is_lost and address is not None:
                session.on_connection_lost(address, str(error))
        finally:
            self._orders.has_left = True
            self._caller.responses.notify()
