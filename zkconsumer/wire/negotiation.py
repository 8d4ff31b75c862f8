"""Determines the API versions of a broker by probing it, without a setting or a guess.

From 0.10 on a broker lists its versions. An older one can't, and is identified by its reaction to
probes, each of which is sent on a new connection:

- 0.8 closes the connection on an unknown request. So it is probed with one request that each
  release introduced, the newest first. ApiVersions must fail twice before that, so that a broker
  that is shutting down is not taken for an old one.
- 0.9 neither responds to an unknown request nor closes the connection, but responds to the next
  request (KAFKA-3547). So a Heartbeat is sent with ApiVersions, in one piece: if its response comes
  first, the broker is a 0.9. Waiting for a time-out instead, as other clients do, takes seconds,
  and can't distinguish it from a slow broker. A 0.9 may also lose what other clients sent at the
  same moment: so it is probed only once.

Probes are harmless: none creates a topic, and the responses are short. A result is valid for one
broker until its connections end: the broker may come back as another version.

This module contains the conclusions, ``probes`` and ``old_probes`` the requests; the caller has the
connections.
Source: Kafka 0.8.0 to 0.9.0.1 ``RequestKeys``, ``ApiKeys``, ``SocketServer``; KIP-35, KIP-511.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from zkconsumer.error_codes import ErrorCode, error_name
from zkconsumer.errors import BrokerError, DecodeError, UnsupportedVersion
from zkconsumer.wire.api import APIS, ApiKey, Response
from zkconsumer.wire.codec import decode_response, encode_request
from zkconsumer.wire.messages.api_versions import ApiVersionsResponse
from zkconsumer.wire.probes import API_VERSIONS, HEARTBEAT, SECOND_PROBE, Probe
from zkconsumer.wire.releases import Release, keeps_no_zookeeper, release_of
from zkconsumer.wire.versions import KNOWN_VERSIONS, BrokerGeneration, VersionRange


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerVersions:
    """The API versions that a broker and the codec have in common.

    Attributes:
        common: the common versions of each API; APIs without any are missing.
        release: the inferred Kafka release; for information only, requests do not depend on it.
        generation: the generation of a broker that can't list its versions; None for others.
        no_zookeeper: whether its cluster runs without ZooKeeper (KRaft).
    """

    common: Mapping[ApiKey, VersionRange]
    release: Release
    generation: BrokerGeneration | None = None
    no_zookeeper: bool = False

    def has(self, api: ApiKey, *, at_least: int = 0, at_most: int | None = None) -> bool:
        """Return whether the API has a common version within these bounds."""
        return self._within(api, at_least, at_most) is not None

    def version_for(self, api: ApiKey, *, at_least: int = 0, at_most: int | None = None) -> int:
        """Return the newest common version of an API.

        Args:
            api: the API.
            at_least: the lowest version with the needed feature.
            at_most: for APIs whose versions differ in meaning: offsets in ZooKeeper are version 0
                of OffsetCommit and OffsetFetch, those in Kafka version 1 and later.

        Raises:
            UnsupportedVersion: there is none within these bounds.
        """
        version = self._within(api, at_least, at_most)
        if version is None:
            limits = f" from version {at_least}" if at_least else ""
            limits += f" up to version {at_most}" if at_most is not None else ""
            common = self.common.get(api)
            served = f", only {common.first} to {common.last}" if common else ""
            old = f" (Kafka {self.generation.value})" if self.generation else ""
            raise UnsupportedVersion(f"the broker{old} lacks {api.name}{limits}{served}")
        return version

    def _within(self, api: ApiKey, at_least: int, at_most: int | None) -> int | None:
        common = self.common.get(api)
        if common is None:
            return None
        last = common.last if at_most is None else min(common.last, at_most)
        return last if last >= max(common.first, at_least) else None


_FIRST_ID, _FOLLOWER_ID = 1, 2


def request_bytes(probe: Probe, *, client_id: str, before_sasl: bool = False) -> bytes:
    """Return the frames to send in one piece, as the first ones on a new connection.

    Args:
        probe: the probe.
        client_id: sent with every request.
        before_sasl: leave out the Heartbeat, since it may not precede the SASL handshake.
    """
    data = encode_request(
        probe.request, version=probe.version, correlation_id=_FIRST_ID, client_id=client_id
    )
    if probe.proves is None and not before_sasl:
        data += encode_request(
            HEARTBEAT, version=0, correlation_id=_FOLLOWER_ID, client_id=client_id
        )
    return data


def after_frame(probe: Probe, frame: bytes | bytearray | memoryview) -> BrokerVersions | Probe:
    """Return the versions found, or the next probe; for that, open a new connection.

    Args:
        probe: the probe that was sent.
        frame: the first frame received, without its length; later ones do not matter.

    Raises:
        BrokerError: the broker refuses to list its versions.
        DecodeError: the frame is no response to the probe.
    """
    correlation_id = int.from_bytes(frame[:4], "big")
    if correlation_id == _FOLLOWER_ID and probe.proves is None:
        return of_generation(BrokerGeneration.V0_9)
    if correlation_id != _FIRST_ID:
        reason = f"the response belongs to another request ({correlation_id})"
        raise DecodeError("ResponseHeader", "correlation_id", 0, reason)
    return after_response(probe, decode_response(probe.request, probe.version, frame)[1])


def after_response(probe: Probe, response: Response) -> BrokerVersions | Probe:
    """Do the same as ``after_frame`` for a decoded response.

    Raises:
        BrokerError: the broker refuses to list its versions.
    """
    if probe.proves is not None:
        return of_generation(probe.proves)
    if not isinstance(response, ApiVersionsResponse):
        raise TypeError(f"a {type(response).__name__} is no response to a probe for versions")
    if response.error_code == ErrorCode.NONE:
        return of_response(response)
    if probe.version == 0:
        raise BrokerError(
            response.error_code,
            ApiKey.API_VERSIONS.name,
            f"the broker does not report its versions: {error_name(response.error_code)}",
        )
    served = _served(response).get(ApiKey.API_VERSIONS)
    older = probe.version - 1
    if response.error_code != ErrorCode.UNSUPPORTED_VERSION or served is None:
        older = 0
    return Probe(request=API_VERSIONS, version=max(0, min(older, served.last if served else 0)))


def after_close(probe: Probe) -> Probe:
    """Return the next probe after the broker closed the connection on this one.

    A failure to connect or a time-out proves nothing: repeat the probe then.

    Raises:
        UnsupportedVersion: it was the last probe.
    """
    if probe.proves is None and probe.version != 0:
        return SECOND_PROBE
    from zkconsumer.wire.old_probes import OLD_PROBES  # noqa: PLC0415 - few brokers are that old

    place = 0 if probe.proves is None else OLD_PROBES.index(probe) + 1
    if place == len(OLD_PROBES):
        raise UnsupportedVersion(
            "the broker closes the connection at every request: it is older than Kafka 0.8, not "
            "Kafka at all, or requires TLS or SASL first"
        )
    return OLD_PROBES[place]


def of_response(response: ApiVersionsResponse) -> BrokerVersions:
    """Return the versions that a broker lists."""
    # All APIs: releases also differ in APIs that we never use.
    newest = {api_version.api_key: api_version.max_version for api_version in response.api_versions}
    return BrokerVersions(
        common=_common(_served(response)),
        release=release_of(newest),
        no_zookeeper=keeps_no_zookeeper(newest),
    )


def of_generation(generation: BrokerGeneration) -> BrokerVersions:
    """Return the versions of a generation of brokers, which can't list them."""
    return BrokerVersions(
        common=_common(KNOWN_VERSIONS[generation]),
        generation=generation,
        release=tuple(int(part) for part in generation.value.split(".")),
    )


def _served(response: ApiVersionsResponse) -> dict[ApiKey, VersionRange]:
    """Return the listed versions of the APIs that the codec supports."""
    known = {int(key): key for key in ApiKey}
    return {
        known[api_version.api_key]: VersionRange(api_version.min_version, api_version.max_version)
        for api_version in response.api_versions
        if api_version.api_key in known
    }


def _common(served: Mapping[ApiKey, VersionRange]) -> Mapping[ApiKey, VersionRange]:
    """Return the common versions; an API without any is omitted."""
    common: dict[ApiKey, VersionRange] = {}
    for key, theirs in served.items():
        ours = APIS[key]
        first, last = max(theirs.first, ours.first), min(theirs.last, ours.last)
        if first <= last:
            common[key] = VersionRange(first, last)
    return MappingProxyType(common)
