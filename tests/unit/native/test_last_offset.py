"""The largest possible offset has no next one."""

from importlib import import_module

from tests.support.chunks import claim_of
from tests.support.engines import needs_native
from tests.support.native_chunks import cursor_on
from tests.support.record_sets import decode
from tests.unit.native.test_runs import runs_of
from zkconsumer.model import Record
from zkconsumer.records.build import build_message_set

pytestmark = needs_native

LAST = 2**63 - 1
SET = build_message_set([Record(LAST - 1, None, b"a"), Record(LAST, None, b"b")])


def test_the_last_offset_has_no_next_one() -> None:
    """The next offset does not wrap round to the smallest; both decoders agree."""
    (run,) = runs_of(SET, fetch_offset=LAST - 1)
    assert run.last_offset == LAST
    core = import_module("zkconsumer.native._core")
    claim = claim_of()
    messages = cursor_on(claim, SET, LAST - 1)
    assert [(message.offset, claim.delivered_offset) for message in messages] == [
        (LAST - 1, LAST),
        (LAST, LAST),
    ]
    assert core.look_ahead(SET, LAST - 1) is None  # there is nothing to request
    assert decode(SET, fetch_offset=LAST - 1).next_offset == LAST
