"""DeleteTopics (from 0.10.1 on): deletes topics; sent to the controller.

v5 (2.7) explains an error. Kafka 4 serves 1 and later.
Source: Kafka 3.9 ``DeleteTopicsRequest``; KIP-4.
"""

from dataclasses import dataclass
from typing import Annotated

from zkconsumer.wire.api import Api, ApiKey, Request, Response
from zkconsumer.wire.schema import Int16, Int32, NullableString, Since, String

DELETE_TOPICS = Api(key=ApiKey.DELETE_TOPICS, last=5, flexible=4)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletedTopic:
    """The result of deleting one topic."""

    name: String
    error_code: Int16
    error_message: Annotated[NullableString, Since(5)] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteTopicsResponse(Response, api=DELETE_TOPICS):
    """One result for each topic."""

    throttle_time_ms: Annotated[Int32, Since(1)] = 0
    topics: tuple[DeletedTopic, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteTopicsRequest(Request[DeleteTopicsResponse]):
    """Sent to the controller, which responds when the topics are gone, or after the time-out."""

    topic_names: tuple[String, ...]
    timeout_ms: Int32
