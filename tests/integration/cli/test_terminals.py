"""Every command of docs/tools.md in a narrow, a usual and a wide terminal, on a real cluster."""

import io
import re
import sys
from typing import NamedTuple

import pytest

from tests.docs.test_readme import ROOT
from tests.support.clusters import fresh_name
from tests.support.traffic import partitions_of, write
from tests.support.zk_tree import ZkTree, offset_path
from zkconsumer.cli.main import main
from zkconsumer.sandbox import Sandbox

pytestmark = pytest.mark.sandbox

WIDTHS = (200, 80, 60)
SENTENCE = re.compile(r"(zookeeper )?group |range |roundrobin |as many |\d{4}-\d\d-\d\dT|WARNING ")
"""Lines that are no table: the terminal breaks them."""
SCREEN = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
NUMBER = re.compile(r"(?<![\w.:-])\d+(?![\w.:-])")
CALLS = {
    "lag --group GROUP --no-seconds": 0,
    "lag --group GROUP --no-seconds --max-lag 1": 3,
    "lag --group nobody": 2,
    "groups list": 0,
    "groups describe --group GROUP": 0,
    "groups watch --group GROUP --count 1": 0,
    "groups delete --group GROUP": 2,
    "verify --group GROUP": 3,
    "get-offset --topic TOPIC": 0,
    "topics list --topic TOPIC": 0,
    "topics describe --topic TOPIC": 0,
    "topics describe --topic nothing": 2,
    "topics leaders": 0,
    "topics under-replicated --topic TOPIC": 0,
    "topics create --topic TOPIC-more --partitions 2": 2,
    "topics alter --topic TOPIC --partitions 9": 2,
    "topics delete --topic TOPIC": 2,
    "produce --topic TOPIC": 0,
    "offsets set --group GROUP --topic TOPIC --to-earliest --dry-run": 0,
    "consume --topic TOPIC --tail 2 --output table": 0,
    "perf --topic TOPIC --messages 3 --idle-ms 300": 0,
    "doctor --group GROUP --quick": 3,
    "doctor --ready-for 4.0": 3,
}
"""Each command, and its exit status."""
CHANGING = ("doctor", "perf", "groups watch", "groups list", "topics leaders", "consume", "produce")
"""What they print is another thing each time."""


class World(NamedTuple):
    """A topic with long names around it, of which nobody reads the rest."""

    cluster: Sandbox
    topic: str
    group: str


@pytest.fixture(scope="module")
def world(cluster: Sandbox) -> World:
    """A group that has committed, and has no members."""
    topic = fresh_name("orders-of-the-warehouse")
    group = fresh_name("billing-of-the-warehouse")
    cluster.create_topic(topic, partitions=3)
    partitions = partitions_of(topic, 3)
    tree = ZkTree(cluster)
    for number, tp in enumerate(partitions):
        write(cluster, tp, [b"value"] * 12)
        tree.put(offset_path(group, tp), str(7 + number).encode())
    return World(cluster, topic, group)


def called(world: World, words: str) -> list[str]:
    """The arguments of a call."""
    names = {"TOPIC": world.topic, "GROUP": world.group, "TOPIC-more": f"{world.topic}-more"}
    arguments = [names.get(word, word) for word in words.split()]
    return [*arguments, "--zookeeper", world.cluster.zookeeper_connect]


@pytest.mark.parametrize("words", CALLS)
def test_a_command_fits_its_terminal(
    world: World, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, words: str
) -> None:
    """No table is wider, all numbers of the wide one are there, and the status is the same."""
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    wide: set[str] | None = None
    for columns in WIDTHS:
        monkeypatch.setenv("COLUMNS", str(columns))
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"value\n")))
        assert main(called(world, words)) == CALLS[words]
        out, err = capfd.readouterr()
        out = SCREEN.sub("", out)
        assert "Traceback" not in err
        lines = [line for line in out.splitlines() if not SENTENCE.match(line)]
        assert [line for line in lines if len(line) > columns] == []
        numbers = set(NUMBER.findall(out))
        wide = numbers if wide is None else wide
        if not words.startswith(CHANGING):
            assert wide <= numbers


def test_each_command_of_the_page_is_among_them() -> None:
    """Those that a heading names, and those of its table."""
    page = (ROOT / "docs" / "tools.md").read_text("utf-8")
    named = set(re.findall(r"`zkconsumer ([a-z-]+)`", page))
    assert named - {words.split()[0] for words in CALLS} == set()
