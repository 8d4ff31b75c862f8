"""The errors of codes that readers, committers and group members may meet.

What each says stands in the table of codes; those that come with more than that are in ``polling``,
``general`` and ``secure``.
"""

from zkconsumer.error_codes import ErrorCode
from zkconsumer.errors.roots import (
    AuthorizationError,
    BrokerResponseError,
    InvalidMetadataError,
    RetriableError,
)


class UnknownError(BrokerResponseError, code=ErrorCode.UNKNOWN): ...


class NoError(BrokerResponseError, code=ErrorCode.NONE, message="NO_ERROR"): ...


class CorruptRecordError(BrokerResponseError, code=ErrorCode.CORRUPT_MESSAGE): ...


class UnknownTopicOrPartitionError(
    InvalidMetadataError, BrokerResponseError, code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
): ...


class InvalidFetchRequestError(BrokerResponseError, code=ErrorCode.INVALID_FETCH_SIZE): ...


class LeaderNotAvailableError(
    InvalidMetadataError, BrokerResponseError, code=ErrorCode.LEADER_NOT_AVAILABLE
): ...


class NotLeaderForPartitionError(
    InvalidMetadataError, BrokerResponseError, code=ErrorCode.NOT_LEADER_FOR_PARTITION
): ...


class RequestTimedOutError(
    RetriableError, BrokerResponseError, code=ErrorCode.REQUEST_TIMED_OUT
): ...


class BrokerNotAvailableError(BrokerResponseError, code=ErrorCode.BROKER_NOT_AVAILABLE): ...


class ReplicaNotAvailableError(
    InvalidMetadataError, BrokerResponseError, code=ErrorCode.REPLICA_NOT_AVAILABLE
): ...


class MessageSizeTooLargeError(
    BrokerResponseError, code=ErrorCode.MESSAGE_TOO_LARGE, message="MESSAGE_SIZE_TOO_LARGE"
): ...


class OffsetMetadataTooLargeError(
    BrokerResponseError, code=ErrorCode.OFFSET_METADATA_TOO_LARGE
): ...


class NetworkExceptionError(
    InvalidMetadataError, BrokerResponseError, code=ErrorCode.NETWORK_EXCEPTION
): ...


class CoordinatorLoadInProgressError(
    RetriableError, BrokerResponseError, code=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
): ...


class CoordinatorNotAvailableError(
    RetriableError, BrokerResponseError, code=ErrorCode.COORDINATOR_NOT_AVAILABLE
): ...


class NotCoordinatorError(RetriableError, BrokerResponseError, code=ErrorCode.NOT_COORDINATOR): ...


class InvalidTopicError(BrokerResponseError, code=ErrorCode.INVALID_TOPIC): ...


class RecordListTooLargeError(BrokerResponseError, code=ErrorCode.RECORD_LIST_TOO_LARGE): ...


class NotEnoughReplicasError(
    RetriableError, BrokerResponseError, code=ErrorCode.NOT_ENOUGH_REPLICAS
): ...


class NotEnoughReplicasAfterAppendError(
    RetriableError, BrokerResponseError, code=ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND
): ...


class IllegalGenerationError(BrokerResponseError, code=ErrorCode.ILLEGAL_GENERATION): ...


class InconsistentGroupProtocolError(
    BrokerResponseError, code=ErrorCode.INCONSISTENT_GROUP_PROTOCOL
): ...


class InvalidGroupIdError(BrokerResponseError, code=ErrorCode.INVALID_GROUP_ID): ...


class UnknownMemberIdError(BrokerResponseError, code=ErrorCode.UNKNOWN_MEMBER_ID): ...


class InvalidSessionTimeoutError(BrokerResponseError, code=ErrorCode.INVALID_SESSION_TIMEOUT): ...


class InvalidCommitOffsetSizeError(
    BrokerResponseError, code=ErrorCode.INVALID_COMMIT_OFFSET_SIZE
): ...


class GroupAuthorizationFailedError(
    AuthorizationError, code=ErrorCode.GROUP_AUTHORIZATION_FAILED
): ...


class ClusterAuthorizationFailedError(
    AuthorizationError, code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED
): ...


class InvalidTimestampError(BrokerResponseError, code=ErrorCode.INVALID_TIMESTAMP): ...


class InvalidRequestError(BrokerResponseError, code=ErrorCode.INVALID_REQUEST): ...


class UnsupportedForMessageFormatError(
    BrokerResponseError, code=ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT
): ...


class SecurityDisabledError(BrokerResponseError, code=ErrorCode.SECURITY_DISABLED): ...


class OperationNotAttemptedError(BrokerResponseError, code=ErrorCode.OPERATION_NOT_ATTEMPTED): ...


class KafkaStorageError(
    InvalidMetadataError, BrokerResponseError, code=ErrorCode.KAFKA_STORAGE_ERROR
): ...


class LogDirNotFoundError(BrokerResponseError, code=ErrorCode.LOG_DIR_NOT_FOUND): ...


class GroupIdNotFoundError(BrokerResponseError, code=ErrorCode.GROUP_ID_NOT_FOUND): ...


class FetchSessionIdNotFoundError(
    RetriableError, BrokerResponseError, code=ErrorCode.FETCH_SESSION_ID_NOT_FOUND
): ...


class InvalidFetchSessionEpochError(
    RetriableError, BrokerResponseError, code=ErrorCode.INVALID_FETCH_SESSION_EPOCH
): ...


class ListenerNotFoundError(
    InvalidMetadataError, BrokerResponseError, code=ErrorCode.LISTENER_NOT_FOUND
): ...


class FencedLeaderEpochError(
    InvalidMetadataError, BrokerResponseError, code=ErrorCode.FENCED_LEADER_EPOCH
): ...


class UnknownLeaderEpochError(
    InvalidMetadataError, BrokerResponseError, code=ErrorCode.UNKNOWN_LEADER_EPOCH
): ...


class UnsupportedCompressionTypeError(
    BrokerResponseError, code=ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
): ...


class OffsetNotAvailableError(
    RetriableError, BrokerResponseError, code=ErrorCode.OFFSET_NOT_AVAILABLE
): ...


class MemberIdRequiredError(BrokerResponseError, code=ErrorCode.MEMBER_ID_REQUIRED): ...


class GroupMaxSizeReachedError(BrokerResponseError, code=ErrorCode.GROUP_MAX_SIZE_REACHED): ...


class FencedInstanceIdError(BrokerResponseError, code=ErrorCode.FENCED_INSTANCE_ID): ...


class GroupSubscribedToTopicError(
    BrokerResponseError, code=ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC
): ...


class InvalidRecordError(BrokerResponseError, code=ErrorCode.INVALID_RECORD): ...


class UnstableOffsetCommitError(
    RetriableError, BrokerResponseError, code=ErrorCode.UNSTABLE_OFFSET_COMMIT
): ...


class ThrottlingQuotaExceededError(
    RetriableError, BrokerResponseError, code=ErrorCode.THROTTLING_QUOTA_EXCEEDED
): ...


class UnknownTopicIdError(
    InvalidMetadataError, BrokerResponseError, code=ErrorCode.UNKNOWN_TOPIC_ID
): ...


class InconsistentTopicIdError(
    InvalidMetadataError, BrokerResponseError, code=ErrorCode.INCONSISTENT_TOPIC_ID
): ...


class FetchSessionTopicIdError(
    RetriableError, BrokerResponseError, code=ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR
): ...


class OffsetMovedToTieredStorageError(
    BrokerResponseError, code=ErrorCode.OFFSET_MOVED_TO_TIERED_STORAGE
): ...


class FencedMemberEpochError(BrokerResponseError, code=ErrorCode.FENCED_MEMBER_EPOCH): ...


class UnreleasedInstanceIdError(BrokerResponseError, code=ErrorCode.UNRELEASED_INSTANCE_ID): ...


class UnsupportedAssignorError(BrokerResponseError, code=ErrorCode.UNSUPPORTED_ASSIGNOR): ...


class StaleMemberEpochError(BrokerResponseError, code=ErrorCode.STALE_MEMBER_EPOCH): ...
