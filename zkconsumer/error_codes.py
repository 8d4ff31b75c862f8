"""Every error code that a broker may respond with, up to those of Kafka 3.9.

One table: number, advice and meaning. Names are those of today's Kafka, except where 0.8's name
describes 0.8 better. Source: Kafka 0.8.2.2 ``ErrorMapping``, Kafka 3.9 ``Errors``.
"""

from enum import Enum, IntEnum


class Advice(Enum):
    """What a client can do about an error code."""

    NOTHING = "a retry gets the same response"
    RETRY = "retry later"
    REFRESH = "refresh the metadata, then retry"


_NOTHING, _RETRY, _REFRESH = Advice.NOTHING, Advice.RETRY, Advice.REFRESH


class ErrorCode(IntEnum):
    """An error code; compares equal to its number.

    Attributes:
        advice: what a client can do about it.
        text: what is wrong, in a few words.
    """

    advice: Advice
    text: str

    def __new__(cls, code: int, advice: Advice, text: str) -> "ErrorCode":
        """Keep the number as the value, the rest as attributes."""
        member = int.__new__(cls, code)
        member._value_ = code
        member.advice = advice
        member.text = text
        return member

    UNKNOWN = -1, _NOTHING, "the broker met an error it has no code for"
    NONE = 0, _NOTHING, "no error"
    OFFSET_OUT_OF_RANGE = 1, _NOTHING, "the log does not have that offset, or not yet"
    CORRUPT_MESSAGE = 2, _RETRY, "a message fails its checksum or is malformed"
    UNKNOWN_TOPIC_OR_PARTITION = 3, _REFRESH, "the broker does not have that topic or partition"
    INVALID_FETCH_SIZE = 4, _NOTHING, "the fetch size is invalid"
    LEADER_NOT_AVAILABLE = 5, _REFRESH, "the partition has no leader now"
    NOT_LEADER_FOR_PARTITION = 6, _REFRESH, "the broker does not lead that partition"
    REQUEST_TIMED_OUT = 7, _RETRY, "the broker could not finish in time"
    BROKER_NOT_AVAILABLE = 8, _NOTHING, "a broker is not available"
    REPLICA_NOT_AVAILABLE = 9, _REFRESH, "a replica is not available"
    MESSAGE_TOO_LARGE = (
        10,
        _NOTHING,
        "a message is larger than the broker takes (message.max.bytes)",
    )
    STALE_CONTROLLER_EPOCH = 11, _NOTHING, "the controller moved"
    OFFSET_METADATA_TOO_LARGE = 12, _NOTHING, "the metadata of a committed offset is too large"
    NETWORK_EXCEPTION = 13, _REFRESH, "the broker lost a connection"
    COORDINATOR_LOAD_IN_PROGRESS = 14, _RETRY, "the coordinator is still loading the offsets"
    COORDINATOR_NOT_AVAILABLE = 15, _RETRY, "the group has no coordinator now"
    NOT_COORDINATOR = 16, _RETRY, "the broker does not coordinate that group"
    INVALID_TOPIC = 17, _NOTHING, "the topic's name is illegal, or it may not be used so"
    RECORD_LIST_TOO_LARGE = 18, _NOTHING, "a message set is larger than a log segment"
    NOT_ENOUGH_REPLICAS = 19, _RETRY, "too few replicas are in sync"
    NOT_ENOUGH_REPLICAS_AFTER_APPEND = 20, _RETRY, "written, but to too few replicas in sync"
    INVALID_REQUIRED_ACKS = 21, _NOTHING, "acks must be -1, 0 or 1"
    ILLEGAL_GENERATION = 22, _NOTHING, "the group is in another generation"
    INCONSISTENT_GROUP_PROTOCOL = 23, _NOTHING, "the member shares no protocol with its group"
    INVALID_GROUP_ID = 24, _NOTHING, "the group id is illegal"
    UNKNOWN_MEMBER_ID = 25, _NOTHING, "the group does not know that member"
    INVALID_SESSION_TIMEOUT = 26, _NOTHING, "the session time-out is outside the broker's range"
    REBALANCE_IN_PROGRESS = 27, _NOTHING, "the group is rebalancing"
    INVALID_COMMIT_OFFSET_SIZE = 28, _NOTHING, "the offsets to commit are too large"
    TOPIC_AUTHORIZATION_FAILED = 29, _NOTHING, "not authorised for the topic"
    GROUP_AUTHORIZATION_FAILED = 30, _NOTHING, "not authorised for the group"
    CLUSTER_AUTHORIZATION_FAILED = 31, _NOTHING, "not authorised for the cluster"
    INVALID_TIMESTAMP = 32, _NOTHING, "a timestamp is out of the accepted range"
    UNSUPPORTED_SASL_MECHANISM = 33, _NOTHING, "the broker lacks that SASL mechanism"
    ILLEGAL_SASL_STATE = 34, _NOTHING, "not allowed at this point of the SASL exchange"
    UNSUPPORTED_VERSION = 35, _NOTHING, "the broker lacks that version of the API"
    TOPIC_ALREADY_EXISTS = 36, _NOTHING, "a topic of that name exists"
    INVALID_PARTITIONS = 37, _NOTHING, "the number of partitions is invalid"
    INVALID_REPLICATION_FACTOR = 38, _NOTHING, "the replication factor is invalid"
    INVALID_REPLICA_ASSIGNMENT = 39, _NOTHING, "the replica assignment is invalid"
    INVALID_CONFIG = 40, _NOTHING, "the configuration is invalid"
    NOT_CONTROLLER = 41, _RETRY, "the broker is not the controller"
    INVALID_REQUEST = 42, _NOTHING, "the request makes no sense to the broker"
    UNSUPPORTED_FOR_MESSAGE_FORMAT = 43, _NOTHING, "the log's message format can't serve that"
    POLICY_VIOLATION = 44, _NOTHING, "a policy of the cluster forbids it"
    OUT_OF_ORDER_SEQUENCE_NUMBER = 45, _NOTHING, "a producer's sequence number came out of order"
    DUPLICATE_SEQUENCE_NUMBER = 46, _NOTHING, "a producer's sequence number came twice"
    INVALID_PRODUCER_EPOCH = 47, _NOTHING, "the producer's epoch is old"
    INVALID_TXN_STATE = 48, _NOTHING, "not allowed in the transaction's state"
    INVALID_PRODUCER_ID_MAPPING = (
        49,
        _NOTHING,
        "the producer id does not belong to the transactional id",
    )
    INVALID_TRANSACTION_TIMEOUT = (
        50,
        _NOTHING,
        "the transaction time-out is above the broker's maximum",
    )
    CONCURRENT_TRANSACTIONS = 51, _RETRY, "another change of the transaction is under way"
    TRANSACTION_COORDINATOR_FENCED = 52, _NOTHING, "the transaction coordinator is an old one"
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED = 53, _NOTHING, "not authorised for the transactional id"
    SECURITY_DISABLED = 54, _NOTHING, "security is switched off on the broker"
    OPERATION_NOT_ATTEMPTED = 55, _NOTHING, "not tried, since another part failed"
    KAFKA_STORAGE_ERROR = 56, _REFRESH, "the broker could not use its disk"
    LOG_DIR_NOT_FOUND = 57, _NOTHING, "the broker has no such log directory"
    SASL_AUTHENTICATION_FAILED = 58, _NOTHING, "SASL authentication failed"
    UNKNOWN_PRODUCER_ID = 59, _NOTHING, "the broker knows nothing of that producer any more"
    REASSIGNMENT_IN_PROGRESS = 60, _NOTHING, "a reassignment is in progress"
    DELEGATION_TOKEN_AUTH_DISABLED = 61, _NOTHING, "delegation tokens are switched off"
    DELEGATION_TOKEN_NOT_FOUND = 62, _NOTHING, "there is no such delegation token"
    DELEGATION_TOKEN_OWNER_MISMATCH = 63, _NOTHING, "the delegation token belongs to somebody else"
    DELEGATION_TOKEN_REQUEST_NOT_ALLOWED = (
        64,
        _NOTHING,
        "delegation tokens can't be had on this connection",
    )
    DELEGATION_TOKEN_AUTHORIZATION_FAILED = 65, _NOTHING, "not authorised for the delegation token"
    DELEGATION_TOKEN_EXPIRED = 66, _NOTHING, "the delegation token expired"
    INVALID_PRINCIPAL_TYPE = 67, _NOTHING, "that type of principal is not supported"
    NON_EMPTY_GROUP = 68, _NOTHING, "the group has members"
    GROUP_ID_NOT_FOUND = 69, _NOTHING, "there is no such group"
    FETCH_SESSION_ID_NOT_FOUND = 70, _RETRY, "there is no such fetch session"
    INVALID_FETCH_SESSION_EPOCH = 71, _RETRY, "the fetch session's epoch is invalid"
    LISTENER_NOT_FOUND = 72, _REFRESH, "the leader lacks a listener that matches"
    TOPIC_DELETION_DISABLED = 73, _NOTHING, "topics may not be deleted (delete.topic.enable)"
    FENCED_LEADER_EPOCH = 74, _REFRESH, "the leader epoch is older than the broker's"
    UNKNOWN_LEADER_EPOCH = 75, _RETRY, "the leader epoch is newer than the broker's"
    UNSUPPORTED_COMPRESSION_TYPE = (
        76,
        _NOTHING,
        "this version can't carry the partition's compression",
    )
    STALE_BROKER_EPOCH = 77, _NOTHING, "the broker's epoch changed"
    OFFSET_NOT_AVAILABLE = 78, _RETRY, "a new leader does not know its high watermark yet"
    MEMBER_ID_REQUIRED = 79, _NOTHING, "the member must join again with the id it was given"
    PREFERRED_LEADER_NOT_AVAILABLE = 80, _REFRESH, "the preferred leader is not available"
    GROUP_MAX_SIZE_REACHED = 81, _NOTHING, "the group is full"
    FENCED_INSTANCE_ID = 82, _NOTHING, "another member uses the same instance id"
    ELIGIBLE_LEADERS_NOT_AVAILABLE = 83, _REFRESH, "no replica may become leader now"
    ELECTION_NOT_NEEDED = 84, _REFRESH, "the partition needs no election"
    NO_REASSIGNMENT_IN_PROGRESS = 85, _NOTHING, "no reassignment is in progress"
    GROUP_SUBSCRIBED_TO_TOPIC = 86, _NOTHING, "the group still reads that topic"
    INVALID_RECORD = 87, _NOTHING, "the broker refuses a record"
    UNSTABLE_OFFSET_COMMIT = 88, _RETRY, "offsets of an open transaction are in the way"
    THROTTLING_QUOTA_EXCEEDED = 89, _RETRY, "a quota is used up"
    PRODUCER_FENCED = 90, _NOTHING, "a newer producer has the same transactional id"
    RESOURCE_NOT_FOUND = 91, _NOTHING, "there is no such resource"
    DUPLICATE_RESOURCE = 92, _NOTHING, "the request names a resource twice"
    UNACCEPTABLE_CREDENTIAL = 93, _NOTHING, "the credential does not meet the rules"
    INCONSISTENT_VOTER_SET = 94, _NOTHING, "the two sides know different voters"
    INVALID_UPDATE_VERSION = 95, _NOTHING, "the update's version is invalid"
    FEATURE_UPDATE_FAILED = 96, _NOTHING, "features could not be updated"
    PRINCIPAL_DESERIALIZATION_FAILURE = 97, _NOTHING, "a forwarded principal could not be read"
    SNAPSHOT_NOT_FOUND = 98, _NOTHING, "there is no such snapshot"
    POSITION_OUT_OF_RANGE = 99, _NOTHING, "the position lies outside the snapshot"
    UNKNOWN_TOPIC_ID = 100, _REFRESH, "the broker does not have a topic of that id"
    DUPLICATE_BROKER_REGISTRATION = 101, _NOTHING, "the broker id is in use"
    BROKER_ID_NOT_REGISTERED = 102, _NOTHING, "the broker id is not registered"
    INCONSISTENT_TOPIC_ID = 103, _REFRESH, "the log belongs to another topic id"
    INCONSISTENT_CLUSTER_ID = 104, _NOTHING, "the broker belongs to another cluster"
    TRANSACTIONAL_ID_NOT_FOUND = 105, _NOTHING, "there is no such transactional id"
    FETCH_SESSION_TOPIC_ID_ERROR = 106, _RETRY, "the fetch session mixes topic names and ids"
    INELIGIBLE_REPLICA = 107, _NOTHING, "a replica may not be in the in-sync set"
    NEW_LEADER_ELECTED = 108, _NOTHING, "done, but the leader has changed"
    OFFSET_MOVED_TO_TIERED_STORAGE = 109, _NOTHING, "the offset lies in tiered storage"
    FENCED_MEMBER_EPOCH = 110, _NOTHING, "the member must give up its partitions and join again"
    UNRELEASED_INSTANCE_ID = 111, _NOTHING, "another member still uses the instance id"
    UNSUPPORTED_ASSIGNOR = 112, _NOTHING, "the group does not support that assignor"
    STALE_MEMBER_EPOCH = 113, _NOTHING, "the member's epoch is old"
    MISMATCHED_ENDPOINT_TYPE = 114, _NOTHING, "an endpoint of that type does not serve it"
    UNSUPPORTED_ENDPOINT_TYPE = 115, _NOTHING, "that type of endpoint is not supported"
    UNKNOWN_CONTROLLER_ID = 116, _NOTHING, "there is no such controller"
    UNKNOWN_SUBSCRIPTION_ID = 117, _NOTHING, "there is no such telemetry subscription"
    TELEMETRY_TOO_LARGE = 118, _NOTHING, "the telemetry is larger than the broker takes"
    INVALID_REGISTRATION = 119, _NOTHING, "the controller refuses the broker's registration"
    TRANSACTION_ABORTABLE = 120, _NOTHING, "the transaction must be aborted"
    INVALID_RECORD_STATE = 121, _NOTHING, "the record is in another state"
    SHARE_SESSION_NOT_FOUND = 122, _RETRY, "there is no such share session"
    INVALID_SHARE_SESSION_EPOCH = 123, _RETRY, "the share session's epoch is invalid"
    FENCED_STATE_EPOCH = 124, _NOTHING, "the share group's state epoch does not match"
    INVALID_VOTER_KEY = 125, _NOTHING, "the voter's key does not match"
    DUPLICATE_VOTER = 126, _NOTHING, "the voter is there already"
    VOTER_NOT_FOUND = 127, _NOTHING, "there is no such voter"

    @property
    def retriable(self) -> bool:
        """Whether the same request may succeed later."""
        return self.advice is not Advice.NOTHING

    @property
    def may_retry_fetch(self) -> bool:
        """Whether to retry a fetch, perhaps at another broker; also true for an unknown code."""
        return self.retriable or self is ErrorCode.UNKNOWN

    @property
    def refresh_metadata(self) -> bool:
        """Whether the leader may be another broker by now."""
        return self.advice is Advice.REFRESH

    @classmethod
    def of(cls, code: int) -> "ErrorCode":
        """Return the error code of a number; UNKNOWN for later ones."""
        return _BY_CODE.get(code, cls.UNKNOWN)


_BY_CODE = {int(member): member for member in ErrorCode}


def error_name(code: int) -> str:
    """Return the name of a code with its number, or the number alone if the code is unknown."""
    known = _BY_CODE.get(code)
    return f"{known.name} ({code})" if known is not None else f"error code {code}"


def explained(code: int) -> str:
    """Return a code in words: its name and its meaning."""
    return f"{error_name(code)}: {ErrorCode.of(code).text}"
