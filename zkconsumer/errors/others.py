"""Errors of kafka-python that nothing here raises, for programs that name them.

Some existed only in 2.0. The old name of an error that was renamed is an alias of its class.
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
    """A broker's metadata names no brokers."""


class NodeNotReadyError(RetriableError):
    """A broker is not ready for requests."""


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
