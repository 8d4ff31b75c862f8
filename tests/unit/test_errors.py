"""Errors under kafka-python's names: which ``except`` catches what, and errors by broker code."""

import gc
import importlib.util
import inspect
import pickle
import sys
import weakref
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

import pytest

from zkconsumer import errors
from zkconsumer.error_codes import ErrorCode
from zkconsumer.errors import for_code, kafka_errors, without_frames
from zkconsumer.model import OffsetAndMetadata, TopicPartition

TP = TopicPartition("t", 0)


def kafka_pythons_errors() -> ModuleType:
    """Load kafka-python's module alone: importing the package would import its clients, too."""
    package = importlib.util.find_spec("kafka")
    assert package is not None
    assert package.origin is not None
    path = Path(package.origin).with_name("errors.py")
    spec = importlib.util.spec_from_file_location("kafka_pythons_errors", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # the module looks itself up there
    spec.loader.exec_module(module)
    return module


THEIRS = {
    name: kind
    for name, kind in vars(kafka_pythons_errors()).items()
    if inspect.isclass(kind) and issubclass(kind, Exception)
}
"""The errors of kafka-python 3."""

ONLY_OLDER = {
    "AsyncProducerQueueFull",
    "AuthenticationFailedError",
    "AuthenticationMethodNotSupported",
    "FailedPayloadsError",
    "GroupCoordinatorNotAvailableError",
    "GroupLoadInProgressError",
    "InvalidMessageError",
    "KafkaUnavailableError",
    "NoBrokersAvailable",
    "NotCoordinatorForGroupError",
    "ProtocolError",
    "StaleLeaderEpochCodeError",
}
"""Errors of kafka-python 2.0 or 2.2 that 3 lacks."""

ALIASES = {
    "AuthenticationFailed": "AuthenticationFailedError",
    "CommitFailed": "CommitFailedError",
    "ConfigError": "KafkaConfigurationError",
    "IllegalState": "IllegalStateError",
    "LogTruncated": "LogTruncationError",
    "NoOffsetForPartition": "NoOffsetForPartitionError",
    "OffsetOutOfRange": "OffsetOutOfRangeError",
    "ProtocolError": "KafkaProtocolError",
    "RebalanceInProgress": "RebalanceInProgressError",
    "RequestTimedOut": "KafkaTimeoutError",
    "TopicAuthorizationFailed": "TopicAuthorizationFailedError",
    "UnsupportedCodec": "UnsupportedCodecError",
    "UnsupportedVersion": "UnsupportedVersionError",
    "ZkConsumerError": "KafkaError",
}

GROUP = errors.GroupFailed("g", "no", code=30, final=True)
MADE: Mapping[str, Exception] = {
    "a plain error": errors.IllegalStateError("no"),
    "one without a message": errors.CommitFailedError(),
    "one with a code": GROUP,
    "a later code": errors.BrokerError(999, "Fetch", "no", TP),
    "by its code alone": for_code(999)("no"),
    "a set as its first argument": errors.TopicAuthorizationFailedError(["b", "a"]),
    "an offset": errors.OffsetOutOfRangeError(TP, 5, 6, 9),
    "a position": errors.NoOffsetForPartitionError([TP]),
    "a truncated log": errors.LogTruncationError(TP, 9, 5, 2),
    "corruption": errors.CorruptRecord("bad", offset=1, position=0, next_offset=None, raw=b"x"),
    "a partition": errors.PartitionFailed(TP, 3, "bad", code=2),
    "commits": errors.OffsetCommitFailed("g", {TP: "no"}, code=12),
    "commits too late": errors.OffsetCommitTimedOut("g", {TP: "no"}),
    "bytes": errors.DecodeError("Fetch", "topics[0]", 3, "too short"),
    "data": errors.DataLost(TP, 1, 2, "gone"),
    "records": errors.WriteFailed({TP: "no"}, unwritten={TP: 2}, written_count=1),
}


@pytest.mark.parametrize("name", sorted({*THEIRS, *ONLY_OLDER}))
def test_every_error_of_kafka_python_exists(name: str) -> None:
    """Each name is a class that can be caught and is listed in ``__all__``."""
    kind = getattr(errors, name)
    assert issubclass(kind, errors.KafkaError)
    assert name in vars(errors)["__all__"]


@pytest.mark.parametrize("name", sorted(THEIRS))
def test_each_error_has_the_bases_and_attributes_of_kafka_python(name: str) -> None:
    """Each ``except`` that caught kafka-python's error catches ours, with the same attributes."""
    theirs, ours = THEIRS[name], getattr(errors, name)
    assert ours.__name__ == theirs.__name__
    above = {kind.__name__ for kind in ours.__mro__}
    assert {kind.__name__ for kind in theirs.__mro__} <= above
    if name == "TransactionAbortedError":
        return  # its message is a sentence about a producer
    for attribute in ("errno", "message", "retriable", "invalid_metadata"):
        if hasattr(theirs, attribute):
            assert getattr(ours, attribute) == getattr(theirs, attribute), attribute
    if getattr(theirs, "errno", None) is not None:
        assert ours.description == ErrorCode.of(ours.errno).text


def test_every_code_has_one_class() -> None:
    """Each code has its class; a later code gets a subclass of ``UnknownError`` with its number."""
    assert kafka_errors.keys() == {int(code) for code in ErrorCode}
    assert all(kind.errno == code and for_code(code) is kind for code, kind in kafka_errors.items())
    later = for_code(999)
    assert issubclass(later, errors.UnknownError)
    assert (later.errno, later.__name__) == (999, "UnrecognizedBrokerError")


@pytest.mark.parametrize(("ours", "theirs"), ALIASES.items())
def test_our_names_are_aliases_of_kafka_python_s(ours: str, theirs: str) -> None:
    """Our name is the same class, which carries kafka-python's name."""
    assert getattr(errors, ours) is getattr(errors, theirs)
    assert getattr(errors, ours).__name__ == theirs


@pytest.mark.parametrize(
    ("error", "caught_by"),
    [
        (errors.IllegalArgumentError("x"), (ValueError, TypeError, AssertionError)),
        (errors.ConfigError("x"), (ValueError, AssertionError, errors.KafkaConfigurationError)),
        (errors.NotAssigned("x"), (ValueError, AssertionError, errors.IllegalStateError)),
        (errors.ConsumerClosed("x"), (AssertionError, errors.IllegalStateError)),
        (errors.NoBrokersAvailable("x"), (errors.KafkaTimeoutError, errors.KafkaConnectionError)),
        (errors.OffsetCommitTimedOut("g", {}), (errors.KafkaTimeoutError,)),
        (errors.SaslAuthenticationFailedError("x"), (errors.AuthenticationFailed,)),
        (errors.KafkaError("x"), (RuntimeError, errors.ZkConsumerError)),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
def test_errors_are_caught_as_in_every_version_of_kafka_python(
    error: Exception, caught_by: tuple[type[Exception], ...]
) -> None:
    """An error is caught by whatever any version of kafka-python raises in its place."""
    for kind in (*caught_by, errors.KafkaError, errors.ZkConsumerError):
        with pytest.raises(kind):
            raise error


def test_an_error_with_a_code_is_caught_by_the_class_of_its_code() -> None:
    """It is caught by our class as well, and carries the name that programs look for in logs."""
    assert isinstance(GROUP, errors.GroupFailed)
    assert isinstance(GROUP, errors.GroupAuthorizationFailedError)
    assert type(GROUP).__name__ == "GroupAuthorizationFailedError"
    assert (GROUP.errno, GROUP.code, GROUP.group_id) == (30, 30, "g")
    assert str(GROUP) == "group g: no"
    assert type(errors.GroupFailed("g", "no")) is errors.GroupFailed
    moved = errors.BrokerError(6, "Fetch", "moved", TP)
    assert isinstance(moved, errors.NotLeaderForPartitionError)
    assert moved.retriable
    assert moved.invalid_metadata
    # The class of this code takes something else than a message.
    refused = errors.BrokerError(29, "ListOffsets", "t-0: not allowed", TP)
    assert isinstance(refused, errors.TopicAuthorizationFailedError)
    assert str(refused) == "t-0: not allowed"


@pytest.mark.parametrize("code", list(ErrorCode), ids=lambda code: code.name)
def test_every_code_combines_with_every_error_that_has_a_code(code: ErrorCode) -> None:
    """The combined classes have compatible bases for every code."""
    made: list[errors.Coded] = [
        errors.GroupFailed("g", "no", code=code),
        errors.PartitionFailed(TP, 3, "no", code=code),
        errors.OffsetCommitFailed("g", {TP: "no"}, code=code),
        errors.BrokerError(code, "Fetch", "no", TP),
    ]
    if code.retriable:
        made.append(errors.BrokerTimedOut(code, "ListOffsets", "no", TP))
        assert isinstance(made[-1], errors.KafkaTimeoutError)
    for error in made:
        assert isinstance(error, for_code(code))
        assert error.code == code
        assert "no" in str(error)


def test_args_are_those_of_kafka_python() -> None:
    """``args`` hold what programs read from kafka-python's errors, while the message is ours."""
    out = errors.OffsetOutOfRangeError(TP, 5)
    assert out.args == ({TP: 5},)
    assert "t-0: offset 5 is not in the log" in str(out)
    assert errors.NoOffsetForPartitionError([TP]).args == ({TP},)
    assert errors.TopicAuthorizationFailedError({"b", "a"}).args == ({"a", "b"},)
    assert str(errors.TopicAuthorizationFailedError({"b", "a"})).startswith(
        "no permission to read a, b: "
    )
    assert errors.LogTruncationError(TP, 9, 5, 2).divergent_offsets == {
        TP: OffsetAndMetadata(5, "", 2)
    }
    assert errors.LogTruncationError(TP, 9).divergent_offsets == {TP: None}


def mro_of(error: Exception) -> list[str]:
    """Return class names, since the class of a later code may be created anew."""
    return [kind.__name__ for kind in type(error).__mro__]


@pytest.mark.parametrize("what", MADE)
def test_every_error_can_be_pickled(what: str) -> None:
    """An error reaches other processes with its class, its message and its attributes."""
    error = MADE[what]
    again = pickle.loads(pickle.dumps(error))
    assert mro_of(again) == mro_of(error)
    assert (str(again), again.args) == (str(error), error.args)
    assert vars(again) == vars(error)


def test_an_error_with_a_code_can_be_stored_without_frames() -> None:
    """``without_frames`` drops the traceback of an error with a code as well."""
    try:
        raise errors.GroupFailed("g", "no", code=24)
    except errors.InvalidGroupIdError as error:
        kept = without_frames(error)
    assert kept.__traceback__ is None


def test_classes_of_made_up_codes_do_not_accumulate() -> None:
    """A broker chooses the code, so only a limited number of classes is cached."""
    made = [weakref.ref(type(errors.BrokerError(code, "", "no"))) for code in range(1_000, 3_000)]
    gc.collect()
    assert sum(reference() is not None for reference in made) <= 512
