"""A log with transactions of several producers, and a broker that serves it.

It responds as a broker does: with batches from the one that contains the fetch offset on, up to the
last stable offset, truncated to the size limit; and with the aborted transactions that end at or
after the fetch offset and begin before the end of the response.
"""

from dataclasses import dataclass, field

from hypothesis import strategies as st

from tests.support.batches import NOW, of_producer, records
from tests.support.markers import build_marker
from zkconsumer.records.build_batch import BatchTraits, build_batch
from zkconsumer.records.codecs import Codec
from zkconsumer.records.transactions import Marker
from zkconsumer.wire.messages.fetch import AbortedTransaction

PRODUCERS = [5, 6, 7]


@dataclass
class TransactionLog:
    """A partition's log, and the outcome of its transactions.

    Attributes:
        batches: base offset, next offset and bytes of each batch.
        open: by producer, first offset and record offsets of the open transaction.
        aborted: the aborted transactions, and the offsets of their markers.
        committed: the offsets of records that are committed, or in no transaction.
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
        """Append records, in the producer's transaction if there is a producer."""
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
            transaction = AbortedTransaction(producer_id=producer_id, first_offset=first)
            self.aborted.append((transaction, self.end))
        traits = of_producer(producer_id)
        self.append(build_marker(marker, self.end, timestamp=NOW, traits=traits), 1)

    @property
    def last_stable_offset(self) -> int:
        """The first offset of the earliest open transaction, or the log's end."""
        return min((first for first, _ in self.open.values()), default=self.end)

    def fetch(
        self, fetch_offset: int, max_bytes: int, *, names_more: bool
    ) -> tuple[bytes, list[AbortedTransaction]]:
        """Answer a fetch; the first batch is returned completely, whatever its size."""
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
def transaction_logs(draw: st.DrawFn) -> TransactionLog:
    """Draw a log of several producers, in and out of transactions."""
    log = TransactionLog()
    for _ in range(draw(st.integers(1, 25))):
        producer = draw(st.sampled_from([None, *PRODUCERS]))
        if producer is None or draw(st.integers(0, 2)):
            codec = draw(st.sampled_from([Codec.NONE, Codec.GZIP]))
            log.write(producer, draw(st.integers(1, 4)), codec)
        else:
            log.finish(producer, draw(st.sampled_from([Marker.ABORT, Marker.COMMIT])))
    return log
