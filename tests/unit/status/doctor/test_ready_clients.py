"""When clients are said to stand in the way of Kafka 4."""

from dataclasses import replace

from tests.support.sick_world import healthy
from zkconsumer.status.doctor.diagnosis import Diagnosis, Severity
from zkconsumer.status.doctor.ready_clients import examine_clients
from zkconsumer.status.doctor.request_counts import RequestCount, RequestMetrics
from zkconsumer.status.doctor.request_logs import RequestLog
from zkconsumer.status.model import GroupKind, GroupStatus, MemberStatus

NEW = RequestCount(request="FetchConsumer", version=11, count=5)
OLD = RequestCount(request="FetchConsumer", version=2, count=1)
EMPTY = RequestLog(source="empty.log")
UNTOLD = RequestCount(request="FetchConsumer", version=None, count=5)


def found(*metrics: RequestMetrics) -> Diagnosis:
    """The one diagnosis."""
    (diagnosis,) = examine_clients(healthy().snapshot(), metrics)
    return diagnosis


def broker(number: int, *counts: RequestCount, problem: str | None = None) -> RequestMetrics:
    """What one of them told."""
    return RequestMetrics(source=f"broker {number}", counts=counts, problem=problem, broker=number)


def test_what_is_refused_is_an_error_that_names_it() -> None:
    """Though another broker could not be read, which is said."""
    diagnosis = found(broker(0, NEW, OLD), broker(1, problem="ConnectException"))
    assert diagnosis.severity is Severity.ERROR
    assert diagnosis.evidence == (
        "broker 0: FetchConsumer version 2, 1 time, by an unnamed client library",
        "broker 1: ConnectException",
    )


def test_many_lines_of_one_kind_leave_room_for_the_other() -> None:
    """What was not read is said beside a hundred refusals, and clients beside what was not read."""
    refused = found(*[broker(0, OLD)] * 100, broker(1, problem="ConnectException")).evidence
    assert refused[-2:] == ("... and 91 more", "broker 1: ConnectException")
    member = MemberStatus(member_id="m", client_id="old", host="h", streams={})
    group = GroupStatus(
        group_id="g", kind=GroupKind.COORDINATOR, seen_ms=0, members=(member,), partitions=()
    )
    dark = [broker(number, problem="ConnectException") for number in range(100)]
    (unseen,) = examine_clients(healthy().snapshot(group), dark)
    assert unseen.evidence[-2:] == ("... and 91 more", "g: client old at h")


def test_all_brokers_without_one_are_a_note() -> None:
    """They count from their start, so it is not for ever."""
    size = len(healthy().snapshot().brokers)
    diagnosis = found(*(broker(number, NEW) for number in range(size)))
    assert diagnosis.severity is Severity.NOTE
    assert "since the brokers started" in diagnosis.what


def test_what_was_not_read_is_never_well() -> None:
    """Of a broker that fails, tells no versions, tells nothing, or was not asked."""
    size = len(healthy().snapshot().brokers)
    well = [broker(number, NEW) for number in range(size - 1)]
    for last in (broker(9, problem="refused"), broker(9, UNTOLD), broker(9), None):
        diagnosis = found(*well, *([] if last is None else [last]))
        assert diagnosis.severity is Severity.WARNING
        assert "are unknown" in diagnosis.what
        assert "JMX_PORT" in diagnosis.repair


def test_a_broker_that_is_read_in_two_ways_is_one() -> None:
    """Whatever two endpoints of it are: the other one was never read, which is said."""
    twice = [replace(broker(0, NEW), source=source) for source in ("a:7071", "a:8778", "10.0.0.1")]
    diagnosis = found(*twice)
    assert diagnosis.severity is Severity.WARNING
    assert "are unknown at 1 of 2 brokers" in diagnosis.what
    assert "broker 1: its counts" in diagnosis.evidence
    assert found(*twice, broker(1, NEW)).severity is Severity.NOTE


def test_what_belongs_to_no_known_broker_makes_nobody_well() -> None:
    """An endpoint of another cluster, through a tunnel, or of a host with several brokers."""
    for owner in (None, 7):
        stranger = replace(broker(9, NEW), broker=owner)
        diagnosis = found(broker(0, NEW), stranger, stranger)
        assert diagnosis.severity is Severity.WARNING
        assert any(
            line.startswith("broker 9: its broker can't be determined")
            for line in diagnosis.evidence
        )
        assert found(broker(0, NEW), broker(1, NEW), stranger).severity is Severity.NOTE
    refused = found(replace(broker(9, OLD), broker=None))
    assert refused.severity is Severity.ERROR, "it is bad news all the same"


def test_request_logs_name_who_is_refused_and_make_nobody_well() -> None:
    """They are of some time, and of one broker."""
    old = RequestCount(request="Produce", version=0, count=7, library="client 'old' at 10.0.0.7")
    log = RequestLog(source="requests.log", total=10, refused=(old,))
    (refused,) = examine_clients(healthy().snapshot(), [], [log])
    assert refused.severity is Severity.ERROR
    assert refused.evidence == (
        "requests.log: Produce version 0, 7 times, by client 'old' at 10.0.0.7",
    )
    for quiet, said in ((replace(log, refused=()), "none of 10 requests"), (EMPTY, "at DEBUG (")):
        (unseen,) = examine_clients(healthy().snapshot(), [], [quiet])
        assert unseen.severity is Severity.WARNING
        assert said in unseen.evidence[0]


def test_a_place_without_any_counts_is_taken_for_a_wrong_one() -> None:
    """A wrong address, or rules that leave them out; not for an old broker."""
    assert any("is this a broker's endpoint?" in line for line in found(broker(9)).evidence)
