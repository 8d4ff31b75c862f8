"""``zkconsumer produce``: what was read is written, whatever ends the command."""

import io
import os
import signal
from collections.abc import Callable

import pytest

from tests.support.fake_net import FakeNet, fake_net
from zkconsumer import TopicPartition
from zkconsumer.cli import produce
from zkconsumer.cli.main import main
from zkconsumer.net.client_settings import ClientSettings
from zkconsumer.net.dialling import dialer_of
from zkconsumer.net.negotiated import BrokerDialer
from zkconsumer.produce import kafka_producer
from zkconsumer.records.decode import decode_record_set


@pytest.fixture
def net(monkeypatch: pytest.MonkeyPatch) -> FakeNet:
    """A broker in memory, to which the command connects; topic ``t`` has one partition."""
    net = fake_net()
    net.cluster.create_topic("t")

    def dialer(settings: ClientSettings, **_: object) -> BrokerDialer:
        return dialer_of(settings, connector=net.network)

    monkeypatch.setattr(kafka_producer, "dialer_of", dialer)
    monkeypatch.setattr("zkconsumer.cli.cluster_access.require_brokers", lambda _: None)
    return net


class Lines(io.BytesIO):
    """Standard input that calls a function when it is read to its end."""

    def __init__(self, data: bytes, at_end: Callable[[], None]) -> None:
        super().__init__(data)
        self._at_end = at_end

    def readline(self, size: int | None = -1, /) -> bytes:
        """See ``io.BytesIO``."""
        line = super().readline(size)
        if not line:
            self._at_end()
        return line


def call(net: FakeNet, monkeypatch: pytest.MonkeyPatch, source: Lines) -> int:
    """Run the command, and return its exit status."""
    monkeypatch.setattr(produce, "_opened", lambda *_: source)
    broker = net.brokers.addresses[0]
    address = f"{broker.host}:{broker.port}"
    return main(["produce", "--bootstrap-server", address, "--topic", "t"])


def written(net: FakeNet) -> list[bytes | None]:
    """Return the values in the topic."""
    data = net.cluster.log(TopicPartition("t", 0)).read(0, 1 << 26)
    decoded = decode_record_set(data, fetch_offset=0, max_decompressed_bytes=1 << 26)
    return [record.value for record in decoded.records]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_after_a_signal_what_was_read_is_written(
    net: FakeNet,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    number: signal.Signals,
) -> None:
    """The command prints how many messages that were."""
    source = Lines(b"one\ntwo\n", lambda: os.kill(os.getpid(), number))
    own = signal.default_int_handler  # the command would keep a signal ignored, as under nohup
    before = signal.signal(number, own)
    try:
        assert call(net, monkeypatch, source) == 130
        assert signal.getsignal(number) is own
    finally:
        signal.signal(number, before)
    assert written(net) == [b"one", b"two"]
    assert capsys.readouterr().err == "zkconsumer: 2 messages written before that\n"


def test_the_broker_decides_how_large_a_message_may_be(
    net: FakeNet, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command has no limit of its own."""
    large = b"x" * 2_000_000
    assert call(net, monkeypatch, Lines(large + b"\n", lambda: None)) == 1
    assert "line 1 was not written" in (printed := capsys.readouterr().err)
    assert "MESSAGE_TOO_LARGE" in printed
