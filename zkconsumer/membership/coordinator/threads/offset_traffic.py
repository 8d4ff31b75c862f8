"""Sends the group thread's requests for commits and committed offsets."""

import logging
from collections.abc import Callable, Collection, Iterable, Mapping

from zkconsumer.error_codes import ErrorCode
from zkconsumer.errors import (
    AuthenticationFailed,
    ConnectFailed,
    GroupFailed,
    RemoteProtocolError,
    RequestTimedOut,
    TransportError,
    ZkConsumerError,
    without_frames,
)
from zkconsumer.membership.coordinator.core import events as ev
from zkconsumer.membership.coordinator.core.commit_queue import CommitBatch
from zkconsumer.membership.coordinator.core.error_table import (
    Handling,
    MembershipRequest,
    explain,
    handling,
)
from zkconsumer.membership.coordinator.core.read_job import ReadJob
from zkconsumer.membership.coordinator.threads.coordinator_connection import (
    CoordinatorAddress,
    CoordinatorConnection,
)
from zkconsumer.membership.coordinator.threads.offset_jobs import OffsetJobs
from zkconsumer.model import TopicPartition
from zkconsumer.offsets import coordinator_requests as wire
from zkconsumer.offsets.coordinator_state import ResponseOutcome, outcome_of
from zkconsumer.wire.messages.offset_fetch import OffsetFetchRequest

log = logging.getLogger(__name__)

_FIRST_TIMEOUT_MS = 3_000
"""Time-out of the first try to read offsets; it doubles with each time-out.

A lost response would delay the heartbeats that follow it on the connection, too.
"""


Located = CoordinatorAddress | int | ZkConsumerError
"""The coordinator's address; or the broker's error code; or the error if no broker responded."""


class OffsetTraffic:
    """Sends the commits and reads that are due. Thread: the group thread.

    Args:
        connection: the connection of the thread.
        locate: returns the coordinator's address, or why there is none.
    """

    def __init__(
        self,
        jobs: OffsetJobs,
        connection: CoordinatorConnection,
        locate: Callable[[], Located],
    ) -> None:
        self._jobs = jobs
        self._session = jobs.session
        self._connection = connection
        self._locate = locate
        self._timeout_ms = jobs.session.terms.settings.request_timeout_ms
        self._limit_ms = min(_FIRST_TIMEOUT_MS, self._timeout_ms)

    def send_due(self) -> None:
        """Send the commits and reads that are due."""
        clock, jobs = self._session.clock, self._jobs
        with jobs.lock:
            due_ms = jobs.commits.next_due_ms()
        if due_ms is not None and clock.now_ms() >= due_ms:
            self._commit()
            jobs.settle()
        for job in jobs.open_reads():
            if clock.now_ms() >= job.due_ms:
                self._read(job)

    # --- commits ------------------------------------------------------------------------

    def _commit(self) -> None:
        session, lock, commits = self._session, self._jobs.lock, self._jobs.commits
        with lock:
            commits.check(session.signature(), session.claims)
            if not commits.busy:
                return
        address, batch = self._coordinator(), None
        with lock:
            now_ms = session.clock.now_ms()
            if isinstance(address, str):
                commits.postpone_all(address, now_ms)
            elif isinstance(address, ZkConsumerError):
                commits.refuse(address)
            else:
                batch = commits.batch(session.signature(), session.claims, now_ms)
        if batch is None or not isinstance(address, CoordinatorAddress):
            return
        try:
            codes = self._send(batch, address)
        except (TransportError, RemoteProtocolError) as error:
            sent = not isinstance(error, ConnectFailed)
            with lock:
                commits.on_request_failed(str(error), session.clock.now_ms(), sent=sent)
            session.on_connection_lost(address, str(error))
        except ZkConsumerError as error:
            with lock:
                commits.on_unsendable(error)
        else:
            self._committed(batch, codes, address)

    def _send(
        self, batch: CommitBatch, address: CoordinatorAddress
    ) -> Mapping[TopicPartition, int]:
        static = batch.signature.instance_id is not None
        offsets = dict(sorted(batch.offsets.items()))
        least, most = wire.bounds(in_kafka=address.coordinates)
        response = self._connection.connection(address).call(
            wire.commit_request(self._session.terms.group_id, offsets, batch.signature),
            timeout_ms=self._timeout_ms,
            at_least=wire.STATIC_MEMBERS_SINCE if static else least,
            at_most=most,
        )
        return wire.commit_codes(response)

    def _committed(
        self, batch: CommitBatch, codes: Mapping[TopicPartition, int], address: CoordinatorAddress
    ) -> None:
        session = self._session
        signature = batch.signature
        with self._jobs.lock:
            session.counts.commits += 1
            self._jobs.commits.on_response(codes, session.signature(), session.clock.now_ms())
        if signature.generation >= 0:
            code = _membership_code(codes.values())
            session.notify(ev.CommitCompleted(signature.member_id, signature.generation, code))
        self._judge(address, codes.values())

    # --- committed offsets --------------------------------------------------------------

    def _read(self, job: ReadJob) -> None:
        address = self._coordinator()
        if isinstance(address, str):
            job.failed(address)
        elif isinstance(address, ZkConsumerError):
            job.error = without_frames(address)
        else:
            self._read_from(address, job)
        if job.ended:
            job.on_end()
        else:
            job.postpone(self._session.clock.now_ms(), self._session.terms.settings.backoff)

    def _read_from(self, address: CoordinatorAddress, job: ReadJob) -> None:
        group_id = self._session.terms.group_id
        try:
            connection = self._connection.connection(address)
            least, most = wire.bounds(in_kafka=address.coordinates)
            version = connection.version_of(OffsetFetchRequest, at_least=least, at_most=most)
            response = connection.call(
                wire.fetch_request(group_id, sorted(job.left), version=version),
                timeout_ms=self._limit_ms,
                at_least=version,
                at_most=version,
            )
            self._limit_ms = min(_FIRST_TIMEOUT_MS, self._timeout_ms)
            code = job.on_response(
                wire.positions(response, unknown_is_none=not address.coordinates)
            )
        except (TransportError, RemoteProtocolError) as error:
            if isinstance(error, RequestTimedOut):
                self._limit_ms = min(self._limit_ms * 2, self._timeout_ms)
            job.failed(str(error))
            self._session.on_connection_lost(address, str(error))
        except ZkConsumerError as error:
            job.error = without_frames(error)
        else:
            self._judge(address, () if code is None else (code,))

    def _coordinator(self) -> CoordinatorAddress | str | ZkConsumerError:
        """Return the coordinator's address, why it is unknown for now, or a permanent error."""
        located = self._locate()
        if isinstance(located, AuthenticationFailed | GroupFailed | CoordinatorAddress):
            return located
        if isinstance(located, ZkConsumerError):
            return f"the group's coordinator could not be looked up: {located}"
        reason = explain(MembershipRequest.FIND, located)
        if handling(MembershipRequest.FIND, located) is Handling.RETRY:
            return reason
        return GroupFailed(self._session.terms.group_id, reason, code=located)

    def _judge(self, address: CoordinatorAddress, codes: Collection[int]) -> None:
        if outcome_of(codes) is ResponseOutcome.LOOK_UP:
            self._session.on_connection_lost(address, "it no longer coordinates the group")
        else:
            self._session.location.on_response()


def _membership_code(codes: Iterable[int]) -> int:
    """Return the code that concerns our membership, if any."""
    concerning = [
        code for code in codes if handling(MembershipRequest.COMMIT, code) is not Handling.OK
    ]
    return concerning[0] if concerning else int(ErrorCode.NONE)
