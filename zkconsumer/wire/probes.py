"""The requests that every broker of unknown version is sent first. Pure.

``negotiation`` says what they show, and ``old_probes`` has those for brokers that close the
connection on these.
"""

import re
from typing import Final, NamedTuple

from zkconsumer.version import __version__
from zkconsumer.wire.api import Request, Response
from zkconsumer.wire.messages.api_versions import ApiVersionsRequest
from zkconsumer.wire.messages.heartbeat import HeartbeatRequest
from zkconsumer.wire.versions import BrokerGeneration

PROBE_GROUP: Final = "zkconsumer-probe"
"""The group id in probes that need one; the group is never created."""


class Probe(NamedTuple):
    """A request to a broker of unknown version.

    Attributes:
        request: the request to send on a new connection; ``request_bytes`` encodes it.
        version: its version.
        proves: the generation that a response proves; None for ApiVersions, which lists versions.
    """

    request: Request[Response]
    version: int
    proves: BrokerGeneration | None = None


# Brokers refuse other characters, such as the "+" of a local version.
API_VERSIONS: Final = ApiVersionsRequest(
    client_software_name="zkconsumer",
    client_software_version=re.sub(r"[^A-Za-z0-9.]", "-", __version__),
)

HEARTBEAT: Final = HeartbeatRequest(group_id=PROBE_GROUP, generation_id=-1, member_id="")
"""Follows ``API_VERSIONS``; the response identifies a 0.9."""

FIRST_PROBE: Final = Probe(request=API_VERSIONS, version=ApiVersionsRequest.API.last)
SECOND_PROBE: Final = Probe(request=API_VERSIONS, version=0)
"""Sent if the broker closed the connection on the first probe."""
