"""The probes for brokers that close the connection on ApiVersions: 0.8 and 0.9. Pure.

Each is a request that one release introduced. Few clusters are that old, so this module is loaded
when a broker has closed two connections.
"""

from typing import Final

from zkconsumer.wire.messages.list_groups import ListGroupsRequest
from zkconsumer.wire.messages.list_offsets import ListOffsetsRequest
from zkconsumer.wire.messages.offset_fetch import OffsetFetchRequest
from zkconsumer.wire.probes import HEARTBEAT, PROBE_GROUP, Probe
from zkconsumer.wire.versions import BrokerGeneration

NO_OFFSETS: Final = OffsetFetchRequest(group_id=PROBE_GROUP, topics=())
"""Requests no offsets: the response is empty, whether offsets are in ZooKeeper or Kafka."""

OLD_PROBES: Final = (
    Probe(request=ListGroupsRequest(), version=0, proves=BrokerGeneration.V0_9),
    # 0.8.2 knows this API and responds with an error. ConsumerMetadata, which it really serves,
    # would create the offsets topic, which a cluster whose groups use ZooKeeper does not need.
    Probe(request=HEARTBEAT, version=0, proves=BrokerGeneration.V0_8_2),
    Probe(request=NO_OFFSETS, version=0, proves=BrokerGeneration.V0_8_1),
    Probe(request=ListOffsetsRequest(topics=()), version=0, proves=BrokerGeneration.V0_8_0),
)
"""The probes, in the order in which they are sent."""
