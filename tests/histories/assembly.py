"""Puts the operations of a history together: each end to its beginning, each value to its place."""

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
    """Put a whole history together.

    Raises:
        BadHistory: an operation lacks a field, or a process began one before the last had ended.
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

    def take(self, one: Operation) -> None:
        take = self._take.get(one.f)
        if take is None:
            raise BadHistory(f"line {one.line}: {one.f!r} is none of {', '.join(self._take)}")
        if one.type == "invoke":
            if one.process in self._pending:
                raise BadHistory(f"line {one.line}: {one.process} has an operation under way")
            self._pending[one.process] = one
        take(one)
        if one.type != "invoke" and one.f in {"send", "poll", "close"}:
            self._pending.pop(one.process, None)

    def finish(self) -> History:
        # Each process stands in its own order, and a member may have had several.
        self._history.deliveries.sort(key=lambda delivery: delivery.given_ms)
        _place(self._history)
        return self._history

    # --- members and what was done to them --------------------------------------------------------

    def _member(self, one: Operation) -> None:
        """Note a member; of one that comes several times only what it always promises counts."""
        name = one.get("member")
        promises = frozenset(one.fields.get("promises", ()))
        earliest = one.fields.get("start") == "earliest"
        before = self._history.members.get(name)
        self._history.members[name] = Member(
            name,
            promises if before is None else promises & before.promises,
            earliest=earliest and (before is None or before.earliest),
            late_ms=one.fields.get("late_ms"),
            load_slack_ms=one.fields.get("load_slack_ms"),
        )

    def _fault(self, one: Operation) -> None:
        until_ms = one.fields.get("until", one.time)
        fault = Fault(one.get("kind"), one.fields.get("member"), one.time, until_ms)
        self._history.faults.append(fault)

    def _end(self, one: Operation) -> None:
        self._history.drained = bool(one.fields.get("drained"))
        self._history.committed = bool(one.fields.get("committed"))

    # --- the log ----------------------------------------------------------------------------------

    def _send(self, one: Operation) -> None:
        if one.type == "invoke":
            send = Send(_partition(one), tuple(one.get("values")))
            self._sends[one.process] = send
            self._history.sends.append(send)
            return
        if one.process not in self._sends:
            raise BadHistory(f"line {one.line}: the end of a send that nobody began")
        send = self._sends.pop(one.process)
        send.outcome = one.type
        if one.type == "ok":
            send.offset = one.fields.get("offset")

    def _log(self, one: Operation) -> None:
        values = {int(offset): value for offset, value in one.get("messages")}
        log = Log(int(one.fields.get("start", 0)), int(one.get("end")), values)
        self._history.logs[_partition(one)] = log

    # --- deliveries -------------------------------------------------------------------------------

    def _poll(self, one: Operation) -> None:
        if one.type == "invoke":
            self._finish_reading(one)
            return
        if one.type != "ok":
            return
        began = self._pending.get(one.process)
        sent_ms = one.fields.get("since", one.time) if began is None else began.time
        for topic, number, offset, value in one.get("messages"):
            reported = None if topic is None else Place(Partition(topic, number), offset)
            delivery = Delivery(
                value, one.get("member"), one.process, one.line, sent_ms, one.time, reported
            )
            if began is None:
                delivery.finished_ms = one.time  # it does not say when it asks
            if reported is not None and (delivery.member, reported.partition) in self._changed:
                self._changed.discard((delivery.member, reported.partition))
                delivery.fresh = True
            self._history.deliveries.append(delivery)
            self._unfinished.setdefault(one.process, []).append(delivery)

    def _close(self, one: Operation) -> None:
        """Ending in order is done with what was delivered, as asking for more is."""
        if one.type == "invoke":
            self._finish_reading(one)

    def _finish_reading(self, one: Operation) -> None:
        for delivery in self._unfinished.pop(one.process, ()):
            delivery.finished_ms = one.time

    def _change(self, one: Operation) -> None:
        for topic, number in one.get("partitions"):
            changed = (one.get("member"), Partition(topic, number))
            self._changed.add(changed)
            if one.f == "seek":
                self._history.sought.add(changed)

    # --- the registry -----------------------------------------------------------------------------

    def _claim(self, one: Operation) -> None:
        claim = Claim(_partition(one), one.get("member"), one.line, one.time)
        self._open_claims[claim.partition] = claim
        self._history.claims.setdefault(claim.partition, []).append(claim)

    def _release(self, one: Operation) -> None:
        claim = self._open_claims.pop(_partition(one), None)
        if claim is None:
            raise BadHistory(f"line {one.line}: the release of what nobody had claimed")
        claim.end, claim.end_ms, claim.ended_by = one.line, one.time, one.get("how")

    def _commit(self, one: Operation) -> None:
        if one.type != "ok":
            return
        for topic, number, offset in one.get("offsets"):
            commit = Commit(one.line, one.time, one.fields.get("member"), offset)
            self._history.commits.setdefault(Partition(topic, number), []).append(commit)


def _partition(one: Operation) -> Partition:
    return Partition(one.get("topic"), int(one.get("partition")))


def _place(history: History) -> None:
    """Put every delivery to its place, also where only the value was told."""
    _find_places(history)
    found: dict[Partition, set[int]] = {}
    for place in history.places.values():
        found.setdefault(place.partition, set()).add(place.offset)
    history.offsets = {partition: sorted(offsets) for partition, offsets in found.items()}
    for delivery in history.deliveries:
        delivery.place = delivery.reported or history.places.get(delivery.value)
        if delivery.place is not None:
            history.given.setdefault((delivery.member, delivery.place), []).append(delivery)


def _find_places(history: History) -> None:
    """Find each value's place: by the log, else by its acknowledgement, else by who read it."""
    for delivery in history.deliveries:
        if delivery.reported is not None:
            history.places.setdefault(delivery.value, delivery.reported)
    for send in history.sends:
        # Where the log was read it decides: what it lacks is not there, acknowledged or not.
        if send.offset is not None and send.partition not in history.logs:
            for offset, value in enumerate(send.values, send.offset):
                history.places[value] = Place(send.partition, offset)
    for partition, log in history.logs.items():
        for offset, value in log.values.items():
            history.places[value] = Place(partition, offset)
