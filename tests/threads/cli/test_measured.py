"""``--metrics-port``: what a command serves with it."""

import argparse
import urllib.request
from collections.abc import Iterator

import pytest

from tests.support.control_bench import ControlledMember, Group
from tests.support.memory_connector import MemoryConnector
from zkconsumer.cli.measured import add_metrics_arguments, port_number, serving_metrics
from zkconsumer.clock import SystemClock
from zkconsumer.metrics.consumer import ConsumerMetrics
from zkconsumer.metrics.families import Family


def arguments(*words: str) -> argparse.Namespace:
    """Parse these arguments."""
    parser = argparse.ArgumentParser()
    add_metrics_arguments(parser)
    return parser.parse_args(words)


@pytest.mark.parametrize("text", ["", "-1", "65536", "x", "1.5", "²"])
def test_an_invalid_port_is_refused(text: str) -> None:
    """The error quotes it."""
    with pytest.raises(argparse.ArgumentTypeError, match="is not a port"):
        port_number(text)


def test_nothing_is_served_without_the_option(capsys: pytest.CaptureFixture[str]) -> None:
    """Consumers may be added nevertheless."""
    metrics = ConsumerMetrics()
    with (
        serving_metrics(arguments(), metrics.families),
        MemoryConnector(ControlledMember(Group(time=SystemClock()), "a")) as connector,
    ):
        metrics.add(connector)
    assert capsys.readouterr().err == ""


def test_the_address_of_the_metrics_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    """It serves the metrics of consumers and further families while the block runs."""
    metrics = ConsumerMetrics()

    def families() -> Iterator[Family]:
        yield from metrics.families()
        yield Family(name="a", text="A.", labels=(), samples=[])

    with (
        serving_metrics(arguments("--metrics-port", "0"), families),
        MemoryConnector(ControlledMember(Group(time=SystemClock()), "a")) as connector,
    ):
        metrics.add(connector)
        printed = capsys.readouterr().err.splitlines()
        ((what, _, address),) = (line.partition(" at ") for line in printed)
        with urllib.request.urlopen(address, timeout=10) as response:
            page = response.read()
    assert b'zkconsumer_max_lag{client_id="g",group="g"} 0' in page
    assert b"# HELP a A." in page
    assert what == "metrics"
