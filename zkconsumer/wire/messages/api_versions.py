"""ApiVersions: the API versions that a broker serves (from 0.10 on).

The only API that may be requested in a version that the broker lacks: the response then has error
``UNSUPPORTED_VERSION`` and is in version 0; brokers from 2.4 on list the versions of ApiVersions in
it, older ones list nothing. 0.8 brokers close the connection, 0.9 brokers do not respond. Source:
KIP-35, KIP-511.
"""

from typing import Annotated

from zkconsumer.wire.api import APIS, ApiKey, Request, Response
from zkconsumer.wire.schema import (
    ApiMessage,
    Bool,
    Hint,
    Int16,
    Int32,
    Int64,
    Since,
    String,
    Tagged,
)


class ApiVersion(ApiMessage):
    """The versions of one API; ``api_key`` is a number, since brokers have APIs unknown to us."""

    api_key: Int16
    min_version: Int16
    max_version: Int16


class SupportedFeature(ApiMessage):
    """A feature that the broker supports (KIP-584)."""

    name: String
    min_version: Int16
    max_version: Int16


class FinalizedFeature(ApiMessage):
    """A feature that the cluster uses (KIP-584)."""

    name: String
    max_version_level: Int16
    min_version_level: Int16


class ApiVersionsResponse(Response, api=APIS[ApiKey.API_VERSIONS]):
    """The versions that the broker serves; may be empty with error ``UNSUPPORTED_VERSION``."""

    error_code: Int16
    api_versions: tuple[ApiVersion, ...]
    throttle_time_ms: Annotated[Int32, Since(1)] = 0
    supported_features: Annotated[tuple[SupportedFeature, ...], Since(3), Tagged(0)] = ()
    finalized_features_epoch: Annotated[Int64, Since(3), Tagged(1)] = -1
    finalized_features: Annotated[tuple[FinalizedFeature, ...], Since(3), Tagged(2)] = ()
    zk_migration_ready: Annotated[Bool, Since(3), Tagged(3)] = False


class ApiVersionsRequest(Request[ApiVersionsResponse]):
    """Sent to any broker, also before authentication.

    From version 3 on, name and version must consist of letters, digits, and inner ``-`` and ``.``.
    Brokers refuse anything else, including empty texts, with ``INVALID_REQUEST``.
    """

    client_software_name: Annotated[String, Since(3), Hint()] = ""
    client_software_version: Annotated[String, Since(3), Hint()] = ""
