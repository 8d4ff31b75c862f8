"""The headers of requests and responses."""

from dataclasses import dataclass

from zkconsumer.wire.schema import Int16, Int32, NullableString


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestHeader:
    """API, version, correlation id and client id of a request."""

    api_key: Int16
    api_version: Int16
    correlation_id: Int32
    client_id: NullableString


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseHeader:
    """The correlation id of the request."""

    correlation_id: Int32
