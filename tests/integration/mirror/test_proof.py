"""``mirror verify`` against real clusters: every planted fault is found and named."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.support.clusters import BrokerOf, fresh_name
from tests.support.mirrors import (
    acknowledged,
    mirror_settings,
    numbered,
    proof_of,
    write_all,
)
from zkconsumer.errors import MirrorError
from zkconsumer.mirror.mirror import Mirror
from zkconsumer.mirror.verify import MirrorProof
from zkconsumer.model import TopicPartition
from zkconsumer.sandbox import Sandbox

pytestmark = pytest.mark.sandbox

COUNT = 300
BATCH = 50

Line = dict[str, object]


def _moved(line: Line, by: int) -> Line:
    at = line["target_offset"]
    assert isinstance(at, int)
    return {**line, "target_offset": at + by}


def _swapped(lines: Sequence[Line]) -> list[Line]:
    first, second, *others = lines
    return [
        {**first, "target_offset": second["target_offset"]},
        {**second, "target_offset": first["target_offset"]},
        *others,
    ]


FAULTS: dict[str, tuple[Callable[[list[Line]], list[Line]], str]] = {
    "the first": (lambda lines: lines[1:], "missing"),
    "one in the middle": (lambda lines: [*lines[:2], *lines[3:]], "missing"),
    "the last": (lambda lines: lines[:-1], "missing"),
    "shifted": (lambda lines: [_moved(lines[0], 1), *lines[1:]], "different"),
    "behind the end": (lambda lines: [*lines[:-1], _moved(lines[-1], COUNT)], "different"),
    "swapped": (_swapped, "different"),
}


def test_planted_faults_are_found(cluster: Sandbox, broker_of: BrokerOf, tmp_path: Path) -> None:
    """Lines are missing, changed or swapped; there are copies, a lost partition, a wrong group."""
    target = broker_of("0.8.2.2")
    topic, group = fresh_name("planted"), fresh_name("group")
    servers = target.bootstrap_servers
    first, second = TopicPartition(topic, 0), TopicPartition(topic, 1)
    for where in (cluster, target):
        where.create_topic(topic, partitions=2)
    write_all(cluster.brokers, {tp: numbered(tp, COUNT) for tp in (first, second)})
    file = tmp_path / "offsets"
    mirror = Mirror(
        mirror_settings(
            cluster, group, topic, servers, offsets_file=file, stop_at_end=True, batch_records=BATCH
        )
    )
    mirror.run()
    assert acknowledged(mirror) == 2 * COUNT
    every: list[Line] = [json.loads(line) for line in file.read_text().splitlines()]
    others = [line for line in every if line["partition"] == 1 or "from" in line]
    ours = [line for line in every if line["partition"] == 0 and "from" not in line]

    def proof(lines: Sequence[Line]) -> MirrorProof:
        planted = tmp_path / "planted"
        planted.write_text("".join(json.dumps(line) + "\n" for line in lines))
        return proof_of(cluster, group, servers, planted)

    good = proof([*others, *ours])
    assert good.is_proven
    assert [partition.mirrored for partition in good.partitions] == [COUNT, COUNT]
    for what, (plant, kind) in FAULTS.items():
        found = proof([*others, *plant(ours)])
        assert not found.is_proven, what
        assert getattr(found.partitions[0], kind) >= 1, what
        assert found.partitions[1].is_proven, what
    gone = proof([line for line in every if line["partition"] == 1])
    assert [(partition.source, partition.missing) for partition in gone.partitions] == [
        (first, COUNT),
        (second, 0),
    ]
    write_all(target.brokers, {first: numbered(first, 2)})
    assert proof(every).offsets_without_line[first] == 2
    with pytest.raises(MirrorError, match="has committed no offset of the partitions in"):
        proof_of(cluster, fresh_name("nobody"), servers, file)
