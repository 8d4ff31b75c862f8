"""Determines which broker an endpoint of metrics belongs to, if its address is unambiguous."""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Final, NamedTuple

from zkconsumer.clock import Clock
from zkconsumer.net.resolving import addresses_of
from zkconsumer.scope import Mailbox, side_by_side
from zkconsumer.status.model import BrokerStatus
from zkconsumer.status.reading.deadline import Deadline

_AT_ONCE: Final = 8


class Endpoint(NamedTuple):
    """An address at which metrics are read."""

    host: str
    jmx_port: int | None = None


def brokers_of(
    endpoints: Iterable[Endpoint],
    brokers: Sequence[BrokerStatus],
    *,
    timeout_ms: int,
    clock: Clock,
) -> dict[Endpoint, int]:
    """Return the id of the broker of each endpoint; ambiguous endpoints are omitted.

    A broker is at an endpoint's host if the hosts have the same name, or share an address. Of
    several brokers at one host, it is the one that has registered the endpoint's JMX port.

    Args:
        endpoints: the hosts, with the port of a JMX endpoint.
        brokers: the brokers of the cluster.
        timeout_ms: the time limit of all lookups together.
        clock: for the time limit.
    """
    places = set(endpoints)
    deadline = Deadline(clock, timeout_ms)
    hosts = sorted({place.host for place in places} | {status.broker.host for status in brokers})
    lookups = [partial(_names_of, host, deadline) for host in hosts]
    names = dict(zip(hosts, side_by_side("names", lookups, threads=_AT_ONCE), strict=True))
    found: dict[Endpoint, int] = {}
    for place in places:
        there = [status for status in brokers if names[status.broker.host] & names[place.host]]
        exact = [status for status in there if place.jmx_port in {status.jmx_port} - {None}]
        # An endpoint at another JMX port than the registered one is another process.
        unsure = [status for status in there if None in {place.jmx_port, status.jmx_port}]
        match exact or unsure:
            case [status]:
                found[place] = status.broker.id
            case _:
                pass
    return found


def _names_of(host: str, deadline: Deadline) -> set[str]:
    """Return the name of a host, and its addresses if they can be looked up."""
    names = {host.lower().rstrip(".")} - {""}
    if names and not deadline.is_over:
        try:
            found = addresses_of(host, 0, max(1, deadline.left_ms), Mailbox())
        except OSError:
            found = []
        names |= {str(address[0]) for _, address in found}
    return names
