"""Readers of committed records get exactly these, however a log is fetched: against a model of it.

The model answers as a broker does: whole batches from the one that holds the fetch offset on, up to
the last stable offset, cut off where the bytes end; with the aborted transactions that end at or
behind the fetch offset and begin before the end of the answer.
"""

from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.batches import NOW, decode, of_producer, records
from tests.support.engines import each_engine
from tests.support.markers import build_marker
from tests.support.shares import examples
from zkconsumer.records.build_batch import BatchTraits, build_batch
from zkconsumer.records.codecs import Codec
from zkconsumer.records.transactions import Marker
from zkconsumer.wire.messages.fetch import AbortedTransaction

__all__ = ["each_engine"]
pytestmark = pytest.mark.usefixtures("each_engine")

PRODUCERS = [5, 6, 7]


@dataclass
class Log:
    """A partition, and what its transactions came to.

    Attributes:
        batches: base offset, next offset and bytes of each.
        open: the first offset and the records of each producer's open transaction.
        aborted: the transactions, and the offsets of their markers.
        committed: the offsets of what is committed, or was never in a transaction.
    """

    end: int = 0
    batches: list[tuple[int, int, bytes]] = field(default_factory=list)
    open: dict[int, tuple[int, list[int]]] = field(default_factory=dict)
    aborted: list[tuple[AbortedTransaction, int]] = field(default_factory=list)
    committed: list[int] = field(default_factory=list)

    def append(self, data: bytes, count: int) -> None:
        """Append a batch."""
        self.batches.append((self.end, self.end + count, data))
        self.end += count

    def write(self, producer_id: int | None, count: int, codec: Codec) -> None:
        """Write records, in the producer's transaction if it is one."""
        offsets = list(range(self.end, self.end + count))
        traits = BatchTraits() if producer_id is None else of_producer(producer_id)
        if producer_id is None:
            self.committed += offsets
        else:
            self.open.setdefault(producer_id, (self.end, []))[1].extend(offsets)
        self.append(build_batch(records(*offsets), codec=codec, traits=traits), count)

    def finish(self, producer_id: int, marker: Marker) -> None:
        """End a producer's transaction, if it has one."""
        first, offsets = self.open.pop(producer_id, (self.end, []))
        if marker is Marker.COMMIT:
            self.committed += offsets
        elif offsets:
            one = AbortedTransaction(producer_id=producer_id, first_offset=first)
            self.aborted.append((one, self.end))
        traits = of_producer(producer_id)
        self.append(build_marker(marker, self.end, timestamp=NOW, traits=traits), 1)

    @property
    def last_stable_offset(self) -> int:
        """In front of it no transaction is open."""
        return min((first for first, _ in self.open.values()), default=self.end)

    def fetch(
        self, fetch_offset: int, max_bytes: int, *, names_more: bool
    ) -> tuple[bytes, list[AbortedTransaction]]:
        """Answer a fetch; the first batch comes whole, whatever its size."""
        stable = self.last_stable_offset
        wanted = [batch for batch in self.batches if batch[1] > fetch_offset and batch[0] < stable]
        data = b"".join(entry[2] for entry in wanted)
        size = max(max_bytes, len(wanted[0][2]) if wanted else 0)
        upper, total = fetch_offset, 0
        for _, behind, written in wanted:
            total += len(written)
            if total - len(written) < size:
                upper = behind
        upper = stable if names_more else upper
        named = [
            aborted_transaction
            for aborted_transaction, at in self.aborted
            if at >= fetch_offset and aborted_transaction.first_offset < upper
        ]
        return data[:size], named


@st.composite
def logs(draw: st.DrawFn) -> Log:
    """Draw a log of several producers, in and out of transactions."""
    log = Log()
    for _ in range(draw(st.integers(1, 25))):
        producer = draw(st.sampled_from([None, *PRODUCERS]))
        if producer is None or draw(st.integers(0, 2)):
            codec = draw(st.sampled_from([Codec.NONE, Codec.GZIP]))
            log.write(producer, draw(st.integers(1, 4)), codec)
        else:
            log.finish(producer, draw(st.sampled_from([Marker.ABORT, Marker.COMMIT])))
    return log


@settings(max_examples=examples(300), deadline=None)
@given(logs(), st.data())
def test_what_is_committed_is_read_once_and_in_order(log: Log, data: st.DataObject) -> None:
    """From any offset, in any number of fetches of any size, up to the last stable offset."""
    start = position = data.draw(st.integers(0, log.end))
    found: list[int] = []
    while position < log.last_stable_offset:
        response, named = log.fetch(
            position, data.draw(st.integers(0, 900)), names_more=data.draw(st.booleans())
        )
        decoded = decode(response, position, aborted=data.draw(st.permutations(named)))
        assert decoded.error is None
        assert decoded.next_offset > position
        found += [record.offset for record in decoded.records]
        position = decoded.next_offset
    stable = log.last_stable_offset
    assert found == [at for at in sorted(log.committed) if start <= at < stable]
