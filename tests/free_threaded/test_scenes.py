"""The scenes for a moment, GIL or not: ``make free-threaded`` has them run for longer."""

import pytest

from tests.free_threaded.scenes import SCENES
from tests.support.queues import needs_native_engine

pytestmark = needs_native_engine


@pytest.mark.parametrize("name", list(SCENES))
def test_threads_share_what_they_may(name: str) -> None:
    """Nothing comes twice, nothing is lost, nobody hangs."""
    assert SCENES[name](0.3, 3) > 0
