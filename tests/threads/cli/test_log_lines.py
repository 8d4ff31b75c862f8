"""What others wrote can't drive the terminal by an error of connecting."""

import pytest

from tests.unit.cli.test_log_lines import HOSTILE
from zkconsumer.errors import ConnectFailed
from zkconsumer.net.tcp import TcpConnector


def test_an_address_in_an_error() -> None:
    """A host that nobody can look up."""
    with pytest.raises(ConnectFailed) as caught:
        TcpConnector().connect(HOSTILE, 9092, timeout_ms=100)
    assert str(caught.value).isprintable()
