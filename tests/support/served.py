"""Fake brokers of 0.8.2 with a negotiating client's way to them."""

import random
from dataclasses import replace

from tests.support.fake_net import LONG_MS
from tests.support.ranges import SETTINGS, RangeBench
from zkconsumer.cluster.cluster_client import ClusterClient
from zkconsumer.fetch.range_parts import decode_any
from zkconsumer.fetch.range_reader import LineReader
from zkconsumer.fetch.served_line import ServedLine, ServedWay
from zkconsumer.net.negotiated import BrokerDialer


class Served:
    """A bench whose reader goes over served lines.

    Attributes:
        world: the brokers.
        client: knows who leads.
        dialer: connects.
    """

    def __init__(self, world: RangeBench) -> None:
        self.world = world
        self.dialer = BrokerDialer(
            world.net.network,
            client_id="unit-tests",
            connect_timeout_ms=LONG_MS,
            request_timeout_ms=LONG_MS,
        )
        self.client = ClusterClient(
            self.dialer,
            tuple(world.net.cluster.brokers.values()),
            request_timeout_ms=LONG_MS,
            retry_backoff_ms=1,
            shuffle=random.shuffle,
        )

    def reader(self, **changes: object) -> LineReader:
        """A reader that notes its pauses instead of making them."""
        settings = replace(SETTINGS, **changes)  # type: ignore[arg-type]  # by the caller
        way = ServedWay(
            client=self.client,
            dialer=self.dialer,
            settings=settings,
            pause=self.world.pauses.append,
        )
        return LineReader(
            lambda tp, leader: ServedLine(tp, way, leader), settings=settings, decoder=decode_any
        )

    def close(self) -> None:
        """Hang up."""
        self.client.stop()
        self.dialer.stop()
