"""What stands in front of every request and response."""

from dataclasses import dataclass

from zkconsumer.wire.schema import Int16, Int32, NullableString


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestHeader:
    """Says which API and version follows, and whose request it is."""

    api_key: Int16
    api_version: Int16
    correlation_id: Int32
    client_id: NullableString


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseHeader:
    """Repeats the request's correlation id."""

    correlation_id: Int32
