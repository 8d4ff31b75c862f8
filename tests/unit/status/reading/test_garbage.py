import gc

import pytest

from zkconsumer.status.reading.garbage import no_collection


def test_the_collector_is_off_within_the_block() -> None:
    """The garbage collector is off within the block, and on again after it, even if it raises."""
    assert gc.isenabled()
    with no_collection():
        assert not gc.isenabled()
    assert gc.isenabled()
    with pytest.raises(KeyError), no_collection():
        raise KeyError
    assert gc.isenabled()


def test_a_collector_that_was_off_stays_off() -> None:
    """If the garbage collector was off before, it stays off: it is the whole process's."""
    gc.disable()
    try:
        with no_collection():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
