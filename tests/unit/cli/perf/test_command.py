"""The settings that ``zkconsumer perf`` gives its consumers."""

import argparse
from pathlib import Path

import pytest

from zkconsumer.cli.perf import command
from zkconsumer.cli.perf.sources import PerfOptions

SOURCES = [
    ("--zookeeper", "zookeeper_source", "fetch.message.max.bytes"),
    ("--bootstrap-server", "polled_source", "max.partition.fetch.bytes"),
]


def parsed(where: str, *flags: str) -> argparse.Namespace:
    """Return the arguments of the command."""
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    return parser.parse_args([where, "h:1", "--topic", "t", *flags])


@pytest.fixture(params=SOURCES, ids=lambda source: source[0])
def source(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> tuple[str, str, list[PerfOptions]]:
    """A flag that names a cluster, its setting of the fetch size, and the options of sources."""
    where, name, setting = request.param
    opened: list[PerfOptions] = []
    monkeypatch.setattr(command, name, lambda options, *_, **__: opened.append(options))
    return where, setting, opened


def test_the_fetch_size_is_left_to_the_consumer(
    source: tuple[str, str, list[PerfOptions]], tmp_path: Path
) -> None:
    """An explicit one does not grow for partitions that lag far behind; a file may set it."""
    where, setting, opened = source
    file = tmp_path / "consumer.properties"
    file.write_text(f"{setting}=5000\n")
    for flags, size in (
        ((), None),
        (("--fetch-size", "7000"), "7000"),
        (("--consumer.config", str(file)), "5000"),
        (("--consumer.config", str(file), "--fetch-size", "7000"), "7000"),
    ):
        args = parsed(where, *flags)
        given = command._file_of(args)
        command._opening(args, given)()
        assert opened[-1].settings.get(setting) == size
        assert command._fetch_size(args, given) == int(size or 1 << 20)
