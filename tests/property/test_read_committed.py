"""With read_committed exactly the committed records are read, compared with a model."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.batches import decode
from tests.support.engines import each_engine
from tests.support.shares import examples
from tests.support.transaction_logs import TransactionLog, transaction_logs

__all__ = ["each_engine"]
pytestmark = pytest.mark.usefixtures("each_engine")


@settings(max_examples=examples(300), deadline=None)
@given(transaction_logs(), st.data())
def test_committed_records_are_read_once_and_in_order(
    log: TransactionLog, data: st.DataObject
) -> None:
    """They are from any offset, in any fetches, up to the last stable offset."""
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
