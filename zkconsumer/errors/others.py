"""Names of kafka-python's errors that nothing here raises: programs that name them load, and run.

Some were in 2.0 only; what has another name today is that one.
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
    """A request was given up before it was answered."""


class CorrelationIdError(RetriableError, KafkaProtocolError):
    """An answer belongs to another request."""


class InvalidReceiveError(KafkaProtocolError):
    """An answer is larger than what may be received."""


class MetadataEmptyBrokerList(RetriableError):
    """A broker knows of no brokers."""


class NodeNotReadyError(RetriableError):
    """A broker can't be asked now."""


class UnknownBrokerIdError(KafkaError):
    """There is no broker of that id."""


class QuotaViolationError(KafkaError):
    """A quota is used up."""


class StaleMetadata(InvalidMetadataError):
    """The metadata is old."""


class TooManyInFlightRequests(RetriableError):
    """Too many requests wait for their answers."""


class UnrecognizedBrokerVersion(KafkaError):
    """It is not known which version the broker is."""


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
    """There is no such way to authenticate."""
