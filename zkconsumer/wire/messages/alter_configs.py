"""IncrementalAlterConfigs (from 2.3 on): changes single settings; any broker does it for topics.

Source: Kafka 3.9 ``IncrementalAlterConfigsRequest``; KIP-339.
"""

from dataclasses import dataclass

from zkconsumer.wire.api import Api, ApiKey, Request, Response
from zkconsumer.wire.schema import Bool, Int8, Int16, Int32, NullableString, String

INCREMENTAL_ALTER_CONFIGS = Api(key=ApiKey.INCREMENTAL_ALTER_CONFIGS, last=1, flexible=1)

TOPIC = 2
"""The type of resource."""

SET = 0
DELETE = 1
"""The operations."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AlteredSetting:
    """A setting, and what is done to it."""

    name: String
    config_operation: Int8
    value: NullableString


@dataclass(frozen=True, slots=True, kw_only=True)
class AlteredResource:
    """A topic or a broker, and its changes."""

    resource_type: Int8
    resource_name: String
    configs: tuple[AlteredSetting, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterationResult:
    """The result for one resource."""

    error_code: Int16
    error_message: NullableString
    resource_type: Int8
    resource_name: String


@dataclass(frozen=True, slots=True, kw_only=True)
class IncrementalAlterConfigsResponse(Response, api=INCREMENTAL_ALTER_CONFIGS):
    """One result for each resource."""

    throttle_time_ms: Int32 = 0
    resources: tuple[AlterationResult, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class IncrementalAlterConfigsRequest(Request[IncrementalAlterConfigsResponse]):
    """Sent to any broker."""

    resources: tuple[AlteredResource, ...]
    validate_only: Bool = False
