"""The foreign deletions of owner nodes that the ledger tolerates, and those that it reports."""

from dataclasses import dataclass, field, replace

import pytest

from tests.fakes.memory_tree import MemoryTree
from tests.simulation.ledger import Ledger, Reading, Violation
from tests.simulation.logs import PartitionLog
from tests.simulation.schedule import first_failure
from zkconsumer.fetch.claim import PartitionClaim
from zkconsumer.model import TopicPartition
from zkconsumer.streams.chunk_queue import ChunkQueue
from zkconsumer.streams.delivery import Delivery
from zkconsumer.zk.store import CreateOp, ZNode

TP = TopicPartition("t", 0)
FORMER, PRESENT = 1, 2


def _node(session_id: int) -> ZNode:
    tree = MemoryTree(lambda: 0)
    tree.apply([CreateOp("/owner", b"", ephemeral=True)], session_id)
    node = tree.get("/owner")
    assert node is not None
    return node


@dataclass
class _Member:
    session_id: int
    name: str = "m"
    auto_commit: bool = True
    heard_lost: set[int] = field(default_factory=set)
    delivery: Delivery = Delivery.AT_LEAST_ONCE
    readings: dict[TopicPartition, Reading] = field(default_factory=dict)
    is_silenced: bool = False
    commit_open: bool = False

    def claims_session(self) -> int:
        return self.session_id


class _Scene:
    has_transactions = True

    def __init__(self) -> None:
        self.logs = {TP: PartitionLog(0, 0)}
        self.owner_node = _node(PRESENT)
        self.offset: int | None = None

    def owner(self, _tp: TopicPartition, /) -> ZNode | None:
        return self.owner_node

    def stored(self, _tp: TopicPartition, /) -> int | None:
        return self.offset

    def is_live(self, _session_id: int, /) -> bool:
        return True


def _claim() -> PartitionClaim:
    return PartitionClaim(TP, ChunkQueue(1), None)


@pytest.fixture
def scene() -> _Scene:
    """Return a scene in which the present owner has created the node again."""
    return _Scene()


@pytest.fixture
def ledger(scene: _Scene) -> Ledger:
    """Return a ledger in which a robbed owner wrote 0 below another owner's new node."""
    ledger = Ledger(scene)
    former = _Member(FORMER)
    scene.owner_node = _node(FORMER)
    ledger.started(former, _claim(), None)
    ledger.robbed(TP, former, FORMER)
    scene.owner_node = _node(PRESENT)
    scene.offset = 0
    ledger.committed(former, FORMER, TP, None)
    return ledger


def test_an_owner_may_start_at_the_offset_before_a_robbed_write(ledger: Ledger) -> None:
    """No version check can tell the two nodes apart; see docs/guarantees.md."""
    ledger.started(_Member(PRESENT), _claim(), None)


def test_an_owner_may_not_start_at_any_other_offset(ledger: Ledger) -> None:
    """An offset that was never stored is a violation."""
    with pytest.raises(Violation, match="starts t-0 from 3, but 0 is stored"):
        ledger.started(_Member(PRESENT), _claim(), 3)


def test_a_write_after_the_robbed_one_may_not_be_ignored(ledger: Ledger, scene: _Scene) -> None:
    """Only that one write may be ignored."""
    scene.offset = 1
    with pytest.raises(Violation, match="starts t-0 from None, but 1 is stored"):
        ledger.started(_Member(PRESENT), _claim(), None)


def test_a_later_owner_may_not_ignore_the_robbed_write(ledger: Ledger, scene: _Scene) -> None:
    """The offset was stored before that owner's node was created."""
    scene.owner_node = replace(_node(PRESENT), czxid=scene.owner_node.czxid + 1)
    with pytest.raises(Violation, match="starts t-0 from None, but 0 is stored"):
        ledger.started(_Member(PRESENT), _claim(), None)


def test_the_world_that_revealed_this_case_passes() -> None:
    """In this world, a first commit lands between another member's read and its start."""
    assert first_failure([7_038_283]) is None
