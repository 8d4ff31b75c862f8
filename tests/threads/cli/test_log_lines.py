"""A connection error can't control the terminal, whatever text others put into it."""

import pytest

from tests.unit.cli.test_log_lines import HOSTILE
from zkconsumer.errors import ConnectFailed
from zkconsumer.net.tcp import TcpConnector


def test_an_address_in_an_error_is_escaped() -> None:
    """A host name that can't be resolved is quoted in the error."""
    with pytest.raises(ConnectFailed) as caught:
        TcpConnector().connect(HOSTILE, 9092, timeout_ms=100)
    assert str(caught.value).isprintable()
