"""Errors by kafka-python's names: their modules, base classes and attributes."""

import warnings
from typing import Any

from tests.alike.casebook import case
from tests.alike.outcomes import Shown
from tests.alike.scene import Scene

RAISED = (
    "KafkaError", "KafkaTimeoutError", "KafkaConnectionError", "KafkaConfigurationError",
    "IllegalStateError", "IllegalArgumentError", "CommitFailedError",
    "NoOffsetForPartitionError", "OffsetOutOfRangeError", "LogTruncationError",
    "UnsupportedVersionError", "UnsupportedCodecError", "UnrecognizedBrokerVersion",
    "IncompatibleBrokerVersion", "NodeNotReadyError", "BrokerResponseError",
    "RebalanceInProgressError", "IllegalGenerationError", "UnknownMemberIdError",
    "FencedInstanceIdError", "GroupAuthorizationFailedError", "TopicAuthorizationFailedError",
    "ClusterAuthorizationFailedError", "SaslAuthenticationFailedError",
    "UnsupportedSaslMechanismError", "CoordinatorNotAvailableError", "NotCoordinatorError",
    "CoordinatorLoadInProgressError", "UnknownTopicOrPartitionError", "LeaderNotAvailableError",
    "NotLeaderForPartitionError", "RequestTimedOutError", "CorruptRecordError",
    "CorruptRecordException", "InvalidTopicError", "OffsetMetadataTooLargeError",
    "InvalidSessionTimeoutError", "InconsistentGroupProtocolError", "InvalidGroupIdError",
    "MessageSizeTooLargeError", "Cancelled", "RetriableError", "InvalidMetadataError",
    "KafkaProtocolError", "CorrelationIdError", "MetadataEmptyBrokerList", "StaleMetadata",
    "TooManyInFlightRequests", "UnknownError", "InvalidFetchRequestError",
    "ReplicaNotAvailableError", "MemberIdRequiredError", "GroupMaxSizeReachedError",
)  # fmt: skip


NUMBERED = (
    "OffsetOutOfRangeError", "CorruptRecordError", "UnknownTopicOrPartitionError",
    "InvalidFetchRequestError", "LeaderNotAvailableError", "NotLeaderForPartitionError",
    "RequestTimedOutError", "ReplicaNotAvailableError", "MessageSizeTooLargeError",
    "OffsetMetadataTooLargeError", "CoordinatorLoadInProgressError",
    "CoordinatorNotAvailableError", "NotCoordinatorError", "InvalidTopicError",
    "IllegalGenerationError", "InconsistentGroupProtocolError", "InvalidGroupIdError",
    "UnknownMemberIdError", "InvalidSessionTimeoutError", "RebalanceInProgressError",
    "TopicAuthorizationFailedError", "GroupAuthorizationFailedError",
    "ClusterAuthorizationFailedError", "UnsupportedSaslMechanismError",
    "UnsupportedVersionError", "SaslAuthenticationFailedError", "MemberIdRequiredError",
    "GroupMaxSizeReachedError", "FencedInstanceIdError",
)  # fmt: skip


def _of(errors: Any) -> dict[str, Any]:
    return {
        name: kind
        for name, kind in vars(errors).items()
        if isinstance(kind, type) and issubclass(kind, BaseException)
    }


def _kinds(s: Scene) -> dict[str, Any]:
    """Return the kafka-python errors that the library has, by name."""
    from kafka import errors as theirs  # noqa: PLC0415 - gives the expected names

    wanted = _of(theirs)
    return {name: kind for name, kind in _of(s.lib.errors).items() if name in wanted}


def _catches(name: str) -> None:
    @case(f"except {name}")
    def _(s: Scene) -> object:
        kinds = _kinds(s)
        if name not in kinds:
            return None
        caught = [text for text in RAISED if text in kinds and issubclass(kinds[name], kinds[text])]
        return Shown({"raised": name, "caught by": caught})


for _name in RAISED:
    _catches(_name)


def _coded() -> list[str]:
    """The names of all other errors that stand for a broker's error code."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from kafka import errors as theirs  # noqa: PLC0415 - gives the expected names

    return sorted(
        name
        for name, kind in _of(theirs).items()
        if isinstance(getattr(kind, "errno", None), int) and name not in RAISED
    )


def _describes(name: str) -> None:
    @case(f"a broker's {name}: its attributes")
    def _(s: Scene) -> object:
        kind = _kinds(s)[name]
        return [kind.errno, kind.retriable, kind.invalid_metadata, kind("text").args]


for _name in _coded():
    _describes(_name)


@case("all of its names")
def _(s: Scene) -> object:
    return sorted(_kinds(s))


@case("all derive from KafkaError")
def _(s: Scene) -> object:
    base = s.lib.errors.KafkaError
    return [
        name for name, kind in _kinds(s).items() if name in RAISED and not issubclass(kind, base)
    ]


@case("retriable")
def _(s: Scene) -> object:
    return {name: kind.retriable for name, kind in _kinds(s).items() if name in RAISED}


@case("error numbers")
def _(s: Scene) -> object:
    return {name: kind.errno for name, kind in _kinds(s).items() if name in NUMBERED}


@case("for_code")
def _(s: Scene) -> object:
    for_code = s.lib.errors.for_code
    return [for_code(code).__name__ for code in (0, 1, 3, 6, 16, 22, 25, 27, 29, 30, 35, 82)]


@case("can be made by a program's tests")
def _(s: Scene) -> object:
    errors = s.lib.errors
    names = ("KafkaError", "KafkaTimeoutError", "CommitFailedError", "IllegalStateError")
    return [bool(str(getattr(errors, name)("text"))) for name in names]


@case("are shown with name and text")
def _(s: Scene) -> object:
    return [str(s.lib.errors.KafkaTimeoutError("text")), str(s.lib.errors.KafkaTimeoutError())]


@case("KafkaTimeoutError without a reachable broker")
def _(s: Scene) -> object:
    return s.attempt(
        lambda: s.consumer("a", bootstrap_servers="127.0.0.1:1", bootstrap_timeout_ms=300).topics()
    )


@case("a session that the broker refuses")
def _(s: Scene) -> object:
    consumer = s.consumer(
        "letters", group_id=s.group(), session_timeout_ms=400, heartbeat_interval_ms=100
    )
    return s.attempt(lambda: [consumer.poll(timeout_ms=1000) for _ in range(5)])
