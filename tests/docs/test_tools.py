"""docs/tools.md names every field that the tools print."""

import json
from collections.abc import Iterator

import pytest

from tests.docs.test_readme import ROOT
from tests.support.opened_cluster import opening
from tests.support.status_world import StatusWorld
from zkconsumer.cli import topics, verify
from zkconsumer.cli.groups import command as groups
from zkconsumer.cli.lag import command as lag
from zkconsumer.cli.main import main

COMMANDS = (
    "lag --sample-ms 0 --topic t",
    "groups list",
    "groups describe --group g",
    "groups watch --count 1",
    "groups delete --topic t --yes",
    "verify --group g",
    "topics list",
    "topics describe",
    "topics leaders",
)
BY_NAME = {"config", "streams", "offsets", "strategies", "partitions_by_owner"}
"""Their keys are names of settings, topics, and the like."""


def fields(value: object) -> Iterator[str]:
    """The keys of all objects within a value."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield key
            inner = list(item.values()) if key in BY_NAME and isinstance(item, dict) else item
            yield from fields(inner)
    elif isinstance(value, list):
        for item in value:
            yield from fields(item)


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> Iterator[StatusWorld]:
    """A cluster with a sick group."""
    world = StatusWorld()
    world.zookeeper_group()
    world.tree.disown("g", "t", 1)
    for module in (groups, lag, topics, verify):
        monkeypatch.setattr(module, "open_cluster", opening(world))
    yield world
    world.close()


@pytest.mark.parametrize("words", COMMANDS)
def test_every_field_is_named(
    world: StatusWorld, capsys: pytest.CaptureFixture[str], words: str
) -> None:
    """In the part of the page that is about the command."""
    if "delete" in words:
        world.tree.commit("old", "t", 0, b"1")
    if words.startswith("lag"):
        for partition in range(2):
            world.tree.commit("g", "t", partition, b"100")
    main([*words.split(), "--zookeeper", "zk", "--json"])
    reported = json.loads(capsys.readouterr().out)
    text = (ROOT / "docs" / "tools.md").read_text()
    section = text.split(f"## `zkconsumer {words.split(maxsplit=1)[0]}`")[1].split("\n## ")[0]
    assert {key for key in fields(reported) if f"`{key}`" not in section} == set()
