"""Error codes of what a consumer does not do (write, administer, be a broker), as classes.

What each says stands in the table of codes.
"""

from zkconsumer.error_codes import ErrorCode
from zkconsumer.errors.roots import (
    AuthorizationError,
    BrokerResponseError,
    InvalidMetadataError,
    RetriableError,
)


class StaleControllerEpochError(BrokerResponseError, code=ErrorCode.STALE_CONTROLLER_EPOCH): ...


class InvalidRequiredAcksError(BrokerResponseError, code=ErrorCode.INVALID_REQUIRED_ACKS): ...


class TopicAlreadyExistsError(BrokerResponseError, code=ErrorCode.TOPIC_ALREADY_EXISTS): ...


class InvalidPartitionsError(BrokerResponseError, code=ErrorCode.INVALID_PARTITIONS): ...


class InvalidReplicationFactorError(
    BrokerResponseError, code=ErrorCode.INVALID_REPLICATION_FACTOR
): ...


class InvalidReplicationAssignmentError(
    BrokerResponseError,
    code=ErrorCode.INVALID_REPLICA_ASSIGNMENT,
    message="INVALID_REPLICATION_ASSIGNMENT",
): ...


class InvalidConfigurationError(BrokerResponseError, code=ErrorCode.INVALID_CONFIG): ...


class NotControllerError(RetriableError, BrokerResponseError, code=ErrorCode.NOT_CONTROLLER): ...


class PolicyViolationError(BrokerResponseError, code=ErrorCode.POLICY_VIOLATION): ...


class OutOfOrderSequenceNumberError(
    BrokerResponseError, code=ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
): ...


class DuplicateSequenceNumberError(
    BrokerResponseError, code=ErrorCode.DUPLICATE_SEQUENCE_NUMBER
): ...


class InvalidProducerEpochError(BrokerResponseError, code=ErrorCode.INVALID_PRODUCER_EPOCH): ...


class InvalidTxnStateError(BrokerResponseError, code=ErrorCode.INVALID_TXN_STATE): ...


class InvalidProducerIdMappingError(
    BrokerResponseError, code=ErrorCode.INVALID_PRODUCER_ID_MAPPING
): ...


class InvalidTransactionTimeoutError(
    BrokerResponseError, code=ErrorCode.INVALID_TRANSACTION_TIMEOUT
): ...


class ConcurrentTransactionsError(
    RetriableError, BrokerResponseError, code=ErrorCode.CONCURRENT_TRANSACTIONS
): ...


class TransactionCoordinatorFencedError(
    BrokerResponseError, code=ErrorCode.TRANSACTION_COORDINATOR_FENCED
): ...


class TransactionalIdAuthorizationFailedError(
    AuthorizationError, code=ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
): ...


class UnknownProducerIdError(BrokerResponseError, code=ErrorCode.UNKNOWN_PRODUCER_ID): ...


class ReassignmentInProgressError(BrokerResponseError, code=ErrorCode.REASSIGNMENT_IN_PROGRESS): ...


class DelegationTokenAuthDisabledError(
    BrokerResponseError, code=ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED
): ...


class DelegationTokenNotFoundError(
    BrokerResponseError, code=ErrorCode.DELEGATION_TOKEN_NOT_FOUND
): ...


class DelegationTokenOwnerMismatchError(
    BrokerResponseError, code=ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH
): ...


class DelegationTokenRequestNotAllowedError(
    BrokerResponseError, code=ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
): ...


class DelegationTokenAuthorizationFailedError(
    AuthorizationError, code=ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED
): ...


class DelegationTokenExpiredError(BrokerResponseError, code=ErrorCode.DELEGATION_TOKEN_EXPIRED): ...


class InvalidPrincipalTypeError(BrokerResponseError, code=ErrorCode.INVALID_PRINCIPAL_TYPE): ...


class NonEmptyGroupError(BrokerResponseError, code=ErrorCode.NON_EMPTY_GROUP): ...


class TopicDeletionDisabledError(BrokerResponseError, code=ErrorCode.TOPIC_DELETION_DISABLED): ...


class StaleBrokerEpochError(BrokerResponseError, code=ErrorCode.STALE_BROKER_EPOCH): ...


class PreferredLeaderNotAvailableError(
    InvalidMetadataError, BrokerResponseError, code=ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE
): ...


class EligibleLeadersNotAvailableError(
    InvalidMetadataError, BrokerResponseError, code=ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE
): ...


class ElectionNotNeededError(
    InvalidMetadataError, BrokerResponseError, code=ErrorCode.ELECTION_NOT_NEEDED
): ...


class NoReassignmentInProgressError(
    BrokerResponseError, code=ErrorCode.NO_REASSIGNMENT_IN_PROGRESS
): ...


class ProducerFencedError(BrokerResponseError, code=ErrorCode.PRODUCER_FENCED): ...


class ResourceNotFoundError(BrokerResponseError, code=ErrorCode.RESOURCE_NOT_FOUND): ...


class DuplicateResourceError(BrokerResponseError, code=ErrorCode.DUPLICATE_RESOURCE): ...


class UnacceptableCredentialError(BrokerResponseError, code=ErrorCode.UNACCEPTABLE_CREDENTIAL): ...


class InconsistentVoterSetError(BrokerResponseError, code=ErrorCode.INCONSISTENT_VOTER_SET): ...


class InvalidUpdateVersionError(BrokerResponseError, code=ErrorCode.INVALID_UPDATE_VERSION): ...


class FeatureUpdateFailedError(BrokerResponseError, code=ErrorCode.FEATURE_UPDATE_FAILED): ...


class PrincipalDeserializationFailureError(
    BrokerResponseError, code=ErrorCode.PRINCIPAL_DESERIALIZATION_FAILURE
): ...


class SnapshotNotFoundError(BrokerResponseError, code=ErrorCode.SNAPSHOT_NOT_FOUND): ...


class PositionOutOfRangeError(BrokerResponseError, code=ErrorCode.POSITION_OUT_OF_RANGE): ...


class DuplicateBrokerRegistrationError(
    BrokerResponseError, code=ErrorCode.DUPLICATE_BROKER_REGISTRATION
): ...


class BrokerIdNotRegisteredError(BrokerResponseError, code=ErrorCode.BROKER_ID_NOT_REGISTERED): ...


class InconsistentClusterIdError(BrokerResponseError, code=ErrorCode.INCONSISTENT_CLUSTER_ID): ...


class TransactionalIdNotFoundError(
    BrokerResponseError, code=ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
): ...


class IneligibleReplicaError(BrokerResponseError, code=ErrorCode.INELIGIBLE_REPLICA): ...


class NewLeaderElectedError(BrokerResponseError, code=ErrorCode.NEW_LEADER_ELECTED): ...


class MismatchedEndpointTypeError(BrokerResponseError, code=ErrorCode.MISMATCHED_ENDPOINT_TYPE): ...


class UnsupportedEndpointTypeError(
    BrokerResponseError, code=ErrorCode.UNSUPPORTED_ENDPOINT_TYPE
): ...


class UnknownControllerIdError(BrokerResponseError, code=ErrorCode.UNKNOWN_CONTROLLER_ID): ...


class UnknownSubscriptionIdError(BrokerResponseError, code=ErrorCode.UNKNOWN_SUBSCRIPTION_ID): ...


class TelemetryTooLargeError(BrokerResponseError, code=ErrorCode.TELEMETRY_TOO_LARGE): ...


class InvalidRegistrationError(BrokerResponseError, code=ErrorCode.INVALID_REGISTRATION): ...


class TransactionAbortableError(BrokerResponseError, code=ErrorCode.TRANSACTION_ABORTABLE): ...


class InvalidRecordStateError(BrokerResponseError, code=ErrorCode.INVALID_RECORD_STATE): ...


class ShareSessionNotFoundError(
    RetriableError, BrokerResponseError, code=ErrorCode.SHARE_SESSION_NOT_FOUND
): ...


class InvalidShareSessionEpochError(
    RetriableError, BrokerResponseError, code=ErrorCode.INVALID_SHARE_SESSION_EPOCH
): ...


class FencedStateEpochError(BrokerResponseError, code=ErrorCode.FENCED_STATE_EPOCH): ...


class InvalidVoterKeyError(BrokerResponseError, code=ErrorCode.INVALID_VOTER_KEY): ...


class DuplicateVoterError(BrokerResponseError, code=ErrorCode.DUPLICATE_VOTER): ...


class VoterNotFoundError(BrokerResponseError, code=ErrorCode.VOTER_NOT_FOUND): ...
