"""Errors of kafka-python that nothing here raises, so that programs that name them run.

Some were in 2.0 only. An error that was renamed since is an alias of its present class.
"""

from zkconsumer.errors.broker_codes import (
    CoordinatorLoadInProgressError,
    CoordinatorNotAvailableError,
    CorruptRecordError,
    NetworkExceptionError,
    NotCoordinatorError,
)
from zkconsumer.errors.general import KafkaProtocolError, UnsupportedVersionError
from zkconsumer.errors.roots import InvalidMetadataError, KafkaError, RetriableError

CorruptRecordException = InvalidMessageError = CorruptRecordError
GroupCoordinatorNotAvailableError = CoordinatorNotAvailableError
GroupLoadInProgressError = CoordinatorLoadInProgressError
NotCoordinatorForGroupError = NotCoordinatorError
StaleLeaderEpochCodeError = NetworkExceptionError


class Cancelled(RetriableError):
    """A request was cancelled before its response."""


class CorrelationIdError(RetriableError, KafkaProtocolError):
    """A response belongs to another request."""


class InvalidReceiveError(KafkaProtocolError):
    """A response is larger than the limit."""


class MetadataEmptyBrokerList(RetriableError):
    """A broker knows of no brokers."""


class NodeNotReadyError(RetriableError):
    """A broker can't be sent requests now."""


class UnknownBrokerIdError(KafkaError):
    """No broker has this id."""


class QuotaViolationError(KafkaError):
    """A quota is used up."""


class StaleMetadata(InvalidMetadataError):
    """The metadata is old."""


class TooManyInFlightRequests(RetriableError):
    """Too many requests are in flight."""


class UnrecognizedBrokerVersion(KafkaError):
    """The version of the broker is unknown."""


class TransactionAbortedError(KafkaError):
    """A transaction was aborted."""


class IncompatibleBrokerVersion(UnsupportedVersionError):
    """The broker is too old."""


class KafkaUnavailableError(KafkaError):
    """No broker could be reached."""


class AsyncProducerQueueFull(KafkaError):
    """A producer's queue is full."""


class FailedPayloadsError(KafkaError):
    """Some requests failed."""


class AuthenticationMethodNotSupported(KafkaError):
    """The authentication method is not supported."""
