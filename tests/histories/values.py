"""Do all observers agree which value has which offset, and was every value written?"""

from collections.abc import Iterator

from tests.histories.facts import History, Place
from tests.histories.rules import CheckResult


def check_values(history: History, outcome: CheckResult) -> None:
    """Find values at two offsets, offsets with two values, and values that were never written."""
    values: dict[Place, set[str]] = {}
    places: dict[str, set[Place]] = {}
    for place, value in _reported(history):
        values.setdefault(place, set()).add(value)
        places.setdefault(value, set()).add(place)
    outcome.complain(
        "inconsistent offsets",
        (f"{place} holds {sorted(all_of)}" for place, all_of in values.items() if len(all_of) > 1),
    )
    outcome.complain(
        "duplicate",
        (
            f"{value} lies at {', '.join(map(str, sorted(all_of)))}"
            for value, all_of in places.items()
            if len(all_of) > 1
        ),
    )
    outcome.complain("write lost by the log", _lost_by_log(history))
    _check_origin(history, outcome)


def _reported(history: History) -> Iterator[tuple[Place, str]]:
    """Yield each reported place of a value: by the logs, acknowledgements and deliveries."""
    for partition, log in history.logs.items():
        for offset, value in log.values.items():
            yield Place(partition, offset), value
    for send in history.sends:
        if send.offset is not None and send.partition not in history.logs:
            for offset, value in enumerate(send.values, send.offset):
                yield Place(send.partition, offset), value
    for delivery in history.deliveries:
        if delivery.reported is not None:
            yield delivery.reported, delivery.value


def _lost_by_log(history: History) -> Iterator[str]:
    for send in history.sends:
        log = history.logs.get(send.partition)
        if log is None or send.offset is None:
            continue
        for offset, value in enumerate(send.values, send.offset):
            if offset >= log.start and log.values.get(offset) != value:
                yield f"{value}, acknowledged at {send.partition} {offset}"


def _check_origin(history: History, outcome: CheckResult) -> None:
    topics = {send.partition.topic for send in history.sends}
    failed = {v for send in history.sends if send.outcome == "fail" for v in send.values}
    written = {value for send in history.sends for value in send.values}
    for log in history.logs.values():
        written.update(log.values.values())
    for delivery in history.deliveries:
        if delivery.value in failed:
            outcome.complain("aborted read", [f"{delivery.value} by {delivery.member}"])
        elif delivery.value not in written and (
            delivery.reported is None or delivery.reported.partition.topic in topics
        ):
            outcome.complain(
                "unwritten read", [f"{delivery.value} at {delivery.reported} by {delivery.member}"]
            )
