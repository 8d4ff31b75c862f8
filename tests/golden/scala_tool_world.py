"""The scenes' cluster as a snapshot, derived from the facts by which it was built."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

from tests.golden.capture_scala_tools import SCALA_TOOLS, Golden, GoldenRun
from tests.golden.scala_tool_scenes import NODES, TOPICS, Topic
from zkconsumer.model import Broker, TopicPartition
from zkconsumer.status.model import (
    BrokerStatus,
    ClusterSnapshot,
    CommittedOffset,
    GroupKey,
    GroupKind,
    GroupPartition,
    GroupStatus,
    PartitionStatus,
    TopicStatus,
)

_NODE = re.compile(r"/consumers/([^/]+)/(owners|offsets)/([^/]+)/([0-9]+)")
NOW_MS = 1_795_000_000_000


@dataclass(frozen=True, slots=True)
class CapturedRuns:
    """The captured runs of the original's tools."""

    golden: Golden

    def of(self, name: str) -> GoldenRun:
        """Return one run."""
        return next(run for run in self.golden["runs"] if run["name"] == name)

    def output(self, name: str) -> str:
        """Return the output of one run."""
        return self.of(name)["output"]


def read_captured_runs() -> CapturedRuns:
    """Read the captured file."""
    return CapturedRuns(json.loads(SCALA_TOOLS.read_text()))


def snapshot(brokers: Mapping[str, str], *, broker_1_down: bool = False) -> ClusterSnapshot:
    """Return the cluster as the scenes alone define it.

    Args:
        brokers: the addresses by id.
        broker_1_down: whether broker 1 is down, as in the second half of the runs.
    """
    up = [number for number in (0, 1) if not (number == 1 and broker_1_down)]
    groups = {match[1] for path in NODES if (match := _NODE.fullmatch(path))}
    found = [_group(group_id) for group_id in sorted(groups | {"without-topics"})]
    return ClusterSnapshot(
        taken_ms=NOW_MS,
        zookeeper_connect="",
        brokers=tuple(
            BrokerStatus(broker=_broker(number, brokers[str(number)]), seen_ms=NOW_MS)
            for number in up
        ),
        topics=tuple(_topic(name, TOPICS[name], up) for name in sorted(TOPICS)),
        groups={group.key: group for group in found},
    )


def group_of(cluster: ClusterSnapshot, group_id: str) -> GroupStatus:
    """Return a group of the scenes."""
    return cluster.groups[GroupKey(GroupKind.ZOOKEEPER, group_id)]


def _broker(number: int, address: str) -> Broker:
    host, _, port = address.partition(":")
    return Broker(number, host, int(port))


def _topic(name: str, topic: Topic, up: list[int]) -> TopicStatus:
    partitions = []
    for number, replicas in topic.replicas.items():
        in_sync = tuple(replica for replica in replicas if replica in up)
        counts = topic.messages or [0] * len(topic.replicas)
        messages = sum(counts) if len(topic.replicas) == 1 else counts[number]
        partitions.append(
            PartitionStatus(
                topic_partition=TopicPartition(name, number),
                leader=in_sync[0] if in_sync else None,
                replicas=tuple(replicas),
                in_sync=in_sync,
                log_start=0,
                log_end=messages,
            )
        )
    return TopicStatus(
        name=name,
        seen_ms=NOW_MS,
        partitions=tuple(partitions),
        config=topic.config,
        deleting=name == "single" and 1 not in up,
    )


def _group(group_id: str) -> GroupStatus:
    found: dict[TopicPartition, GroupPartition] = {}
    for path, text in NODES.items():
        match = _NODE.fullmatch(path)
        if match is None or match[1] != group_id:
            continue
        tp = TopicPartition(match[3], int(match[4]))
        one = found.get(tp, GroupPartition(tp))
        if match[2] == "owners":
            found[tp] = one._replace(owner=text)
        elif text.isdigit():
            found[tp] = one._replace(committed=(CommittedOffset(int(text), "zookeeper", NOW_MS),))
        else:
            found[tp] = one._replace(problem=f"{text} is not an offset")
    return GroupStatus(
        group_id=group_id,
        kind=GroupKind.ZOOKEEPER,
        seen_ms=NOW_MS,
        partitions=tuple(found[tp] for tp in sorted(found)),
    )
