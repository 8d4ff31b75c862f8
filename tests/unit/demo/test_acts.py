"""What ends the wait for the end of an act."""

import pytest

from zkconsumer.demo.acts import Acts
from zkconsumer.errors import RegistryError, SandboxError


class Watched(Acts):
    """Acts that show nothing."""

    def __init__(self) -> None:
        super().__init__(60_000)

    def _meanwhile(self, what: str) -> None:
        del what


def test_a_failed_command_ends_the_wait() -> None:
    """It would fail again and again until the time-out; a server that is busy is tried again."""
    results: list[Exception] = [RegistryError("busy"), SandboxError("mirror ended with 1")]

    def condition() -> bool:
        raise results.pop(0)

    with pytest.raises(SandboxError, match="mirror ended with 1"):
        Watched()._await("the mirror has copied", condition)
    assert results == []
