"""Assembles operations to a history: pairs invocations and completions, and locates values."""

from collections.abc import Callable, Iterable, Mapping

from tests.histories.facts import (
    Claim,
    Commit,
    Delivery,
    Fault,
    History,
    Log,
    Member,
    Partition,
    Place,
    Send,
)
from tests.histories.operations import BadHistory, Operation


def assemble(operations: Iterable[Operation]) -> History:
    """Assemble a whole history.

    Raises:
        BadHistory: an operation lacks a field, or a process invoked one while another was pending.
    """
    builder = _Builder()
    for operation in operations:
        builder.take(operation)
    return builder.finish()


class _Builder:
    def __init__(self) -> None:
        self._history = History()
        self._pending: dict[str, Operation] = {}
        self._sends: dict[str, Send] = {}
        self._unfinished: dict[str, list[Delivery]] = {}
        self._changed: set[tuple[str, Partition]] = set()
        self._open_claims: dict[Partition, Claim] = {}
        self._take: Mapping[str, Callable[[Operation], None]] = {
            "member": self._member,
            "send": self._send,
            "poll": self._poll,
            "close": self._close,
            "assigned": self._change,
            "revoked": self._change,
            "lost": self._change,
            "seek": self._change,
            "claim": self._claim,
            "release": self._release,
            "commit": self._commit,
            "fault": self._fault,
            "log": self._log,
            "end": self._end,
            "note": lambda _: None,
        }

    def take(self, operation: Operation) -> None:
        take = self._take.get(operation.f)
        if take is None:
            raise BadHistory(
                f"line {operation.line}: {operation.f!r} is none of {', '.join(self._take)}"
            )
        if operation.type == "invoke":
            if operation.process in self._pending:
                raise BadHistory(
                    f"line {operation.line}: {operation.process} has an operation under way"
                )
            self._pending[operation.process] = operation
        take(operation)
        if operation.type != "invoke" and operation.f in {"send", "poll", "close"}:
            self._pending.pop(operation.process, None)

    def finish(self) -> History:
        # Lines are in order within a process only, and a member may have had several processes.
        self._history.deliveries.sort(key=lambda delivery: delivery.given_ms)
        _place(self._history)
        return self._history

    # --- members and faults -----------------------------------------------------------------------

    def _member(self, operation: Operation) -> None:
        """Add a member; if it is declared several times, only common promises count."""
        name = operation.get("member")
        promises = frozenset(operation.fields.get("promises", ()))
        earliest = operation.fields.get("start") == "earliest"
        before = self._history.members.get(name)
        self._history.members[name] = Member(
            name,
            promises if before is None else promises & before.promises,
            earliest=earliest and (before is None or before.earliest),
            late_ms=operation.fields.get("late_ms"),
            load_slack_ms=operation.fields.get("load_slack_ms"),
        )

    def _fault(self, operation: Operation) -> None:
        until_ms = operation.fields.get("until", operation.time)
        fault = Fault(
            operation.get("kind"), operation.fields.get("member"), operation.time, until_ms
        )
        self._history.faults.append(fault)

    def _end(self, operation: Operation) -> None:
        self._history.drained = bool(operation.fields.get("drained"))
        self._history.committed = bool(operation.fields.get("committed"))

    # --- the log ----------------------------------------------------------------------------------

    def _send(self, operation: Operation) -> None:
        if operation.type == "invoke":
            send = Send(_partition(operation), tuple(operation.get("values")))
            self._sends[operation.process] = send
            self._history.sends.append(send)
            return
        if operation.process not in self._sends:
            raise BadHistory(f"line {operation.line}: the end of a send that nobody began")
        send = self._sends.pop(operation.process)
        send.outcome = operation.type
        if operation.type == "ok":
            send.offset = operation.fields.get("offset")

    def _log(self, operation: Operation) -> None:
        values = {int(offset): value for offset, value in operation.get("messages")}
        log = Log(int(operation.fields.get("start", 0)), int(operation.get("end")), values)
        self._history.logs[_partition(operation)] = log

    # --- deliveries -------------------------------------------------------------------------------

    def _poll(self, operation: Operation) -> None:
        if operation.type == "invoke":
            self._finish_reading(operation)
            return
        if operation.type != "ok":
            return
        began = self._pending.get(operation.process)
        sent_ms = operation.fields.get("since", operation.time) if began is None else began.time
        for topic, number, offset, value in operation.get("messages"):
            reported = None if topic is None else Place(Partition(topic, number), offset)
            delivery = Delivery(
                value,
                operation.get("member"),
                operation.process,
                operation.line,
                sent_ms,
                operation.time,
                reported,
            )
            if began is None:
                delivery.finished_ms = operation.time  # this member does not record invocations
            if reported is not None and (delivery.member, reported.partition) in self._changed:
                self._changed.discard((delivery.member, reported.partition))
                delivery.fresh = True
            self._history.deliveries.append(delivery)
            self._unfinished.setdefault(operation.process, []).append(delivery)

    def _close(self, operation: Operation) -> None:
        """Closing finishes the records delivered before, like the next poll."""
        if operation.type == "invoke":
            self._finish_reading(operation)

    def _finish_reading(self, operation: Operation) -> None:
        for delivery in self._unfinished.pop(operation.process, ()):
            delivery.finished_ms = operation.time

    def _change(self, operation: Operation) -> None:
        for topic, number in operation.get("partitions"):
            changed = (operation.get("member"), Partition(topic, number))
            self._changed.add(changed)
            if operation.f == "seek":
                self._history.sought.add(changed)

    # --- the registry -----------------------------------------------------------------------------

    def _claim(self, operation: Operation) -> None:
        claim = Claim(
            _partition(operation), operation.get("member"), operation.line, operation.time
        )
        self._open_claims[claim.partition] = claim
        self._history.claims.setdefault(claim.partition, []).append(claim)

    def _release(self, operation: Operation) -> None:
        claim = self._open_claims.pop(_partition(operation), None)
        if claim is None:
            raise BadHistory(f"line {operation.line}: the release of what nobody had claimed")
        claim.end, claim.end_ms, claim.ended_by = (
            operation.line,
            operation.time,
            operation.get("how"),
        )

    def _commit(self, operation: Operation) -> None:
        if operation.type != "ok":
            return
        for topic, number, offset in operation.get("offsets"):
            commit = Commit(operation.line, operation.time, operation.fields.get("member"), offset)
            self._history.commits.setdefault(Partition(topic, number), []).append(commit)


def _partition(operation: Operation) -> Partition:
    return Partition(operation.get("topic"), int(operation.get("partition")))


def _place(history: History) -> None:
    """Locate every delivery, also those of which only the value was recorded."""
    _find_places(history)
    by_partition: dict[Partition, set[int]] = {}
    for place in history.places.values():
        by_partition.setdefault(place.partition, set()).add(place.offset)
    history.offsets = {partition: sorted(offsets) for partition, offsets in by_partition.items()}
    for delivery in history.deliveries:
        delivery.place = delivery.reported or history.places.get(delivery.value)
        if delivery.place is not None:
            history.given.setdefault((delivery.member, delivery.place), []).append(delivery)


def _find_places(history: History) -> None:
    """Locate each value: by the log, else by its acknowledgement, else by a member that read it."""
    for delivery in history.deliveries:
        if delivery.reported is not None:
            history.places.setdefault(delivery.value, delivery.reported)
    for send in history.sends:
        # If the log was read, it decides: what it lacks is lost, even if it was acknowledged.
        if send.offset is not None and send.partition not in history.logs:
            for offset, value in enumerate(send.values, send.offset):
                history.places[value] = Place(send.partition, offset)
    for partition, log in history.logs.items():
        for offset, value in log.values.items():
            history.places[value] = Place(partition, offset)
