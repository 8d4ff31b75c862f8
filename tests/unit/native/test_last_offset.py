"""The largest offset there can be has none behind it."""

from importlib import import_module

from tests.support.engines import needs_native
from tests.support.record_sets import decode
from tests.unit.native.test_runs import runs_of
from zkconsumer.model import Record
from zkconsumer.records.build import build_message_set

pytestmark = needs_native

LAST = 2**63 - 1
SET = build_message_set([Record(LAST - 1, None, b"a"), Record(LAST, None, b"b")])


def test_nothing_is_behind_the_last_offset() -> None:
    """It does not wrap round to the smallest: the two decoders agree."""
    (run,) = runs_of(SET, fetch_offset=LAST - 1)
    assert run.last_offset == LAST
    core = import_module("zkconsumer.native._core")
    messages = run.messages(core.Origin("t", 0))
    assert [(message.offset, messages.next_offset) for message in messages] == [
        (LAST - 1, LAST),
        (LAST, LAST),
    ]
    assert core.look_ahead(SET, LAST - 1) is None  # there is nothing to ask for
    assert decode(SET, fetch_offset=LAST - 1).next_offset == LAST
