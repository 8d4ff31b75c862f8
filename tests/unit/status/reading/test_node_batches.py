"""Reading many nodes at once: refused ones, the deadline, and a broken connection."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes.memory_zk import MemoryZkServer
from tests.support.manual_clock import ManualClock
from tests.support.refusing import RefusingStore
from zkconsumer.errors import RegistryError
from zkconsumer.status.reading.deadline import Deadline
from zkconsumer.status.reading.node_batches import NodeBatches
from zkconsumer.status.reading.values import Unreadable
from zkconsumer.zk.store import ZNode

LIMIT_MS = 1_000


@given(st.sets(st.integers(0, 40)), st.sets(st.integers(0, 40)))
def test_a_node_that_is_refused_hides_no_other(there: set[int], refused: set[int]) -> None:
    """Each path has its own result, in order, and a refused node hides no other."""
    server = MemoryZkServer()
    writer = server.connect()
    for number in there:
        writer.create(f"/n{number}", b"%d" % number, ephemeral=False)
    store = client = RefusingStore(server)
    client.refuses = lambda path: int(path[2:]) in refused
    batches = NodeBatches(store, Deadline(ManualClock(), LIMIT_MS))
    paths = [f"/n{number}" for number in range(41)]
    for number, found in enumerate(batches.get(paths)):
        if number in refused:
            assert isinstance(found, Unreadable)
            assert f"/n{number}: access denied" in found.reason
        elif number in there:
            assert isinstance(found, ZNode)
            assert found.data == b"%d" % number
        else:
            assert found is None
    lists = batches.children(paths)
    stats = batches.stat(paths)
    assert [isinstance(listing, Unreadable) for listing in lists] == [
        number in refused for number in range(41)
    ]
    assert [stat is None for stat in stats] == [
        number not in there and number not in refused for number in range(41)
    ]


def test_a_refused_node_costs_few_more_requests() -> None:
    """A batch with a refused node is halved until it is found, not read one by one."""
    store = client = RefusingStore(MemoryZkServer())
    client.refuses = lambda path: path == "/n7"
    NodeBatches(store, Deadline(ManualClock(), LIMIT_MS)).get(
        [f"/n{number}" for number in range(1024)]
    )
    assert client.batches["get"] == 21


def test_reading_ends_at_the_deadline() -> None:
    """Reading ends at the deadline, between two batches, with the next node in the error."""
    clock = ManualClock()
    store = client = RefusingStore(MemoryZkServer())
    client.before = lambda _: clock.advance(LIMIT_MS)
    with pytest.raises(RegistryError, match=r"within 1000 ms; the next node was /n4000"):
        NodeBatches(store, Deadline(clock, LIMIT_MS)).get([f"/n{number}" for number in range(5000)])
    assert client.read == {"get": 4000}


def test_a_broken_connection_fails_the_call() -> None:
    """A broken connection fails the whole call at once."""
    server = MemoryZkServer()
    store = client = RefusingStore(server)
    server.disconnect(store.session_id)
    with pytest.raises(RegistryError):
        NodeBatches(store, Deadline(ManualClock(), LIMIT_MS)).get(["/a", "/b"])
    assert client.batches["get"] == 1
