import gc

import pytest

from zkconsumer.status.reading.garbage import no_collection


def test_the_collector_rests_and_goes_on() -> None:
    """Also where the block fails."""
    assert gc.isenabled()
    with no_collection():
        assert not gc.isenabled()
    assert gc.isenabled()
    with pytest.raises(KeyError), no_collection():
        raise KeyError
    assert gc.isenabled()


def test_who_switched_it_off_keeps_it_so() -> None:
    """It is the whole process's."""
    gc.disable()
    try:
        with no_collection():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
