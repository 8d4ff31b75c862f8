"""Every command of docs/tools.md in a narrow, a usual and a wide terminal, on a real cluster."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.docs.test_readme import ROOT
from tests.support.clusters import fresh_name
from tests.support.terminals import in_terminal
from tests.support.traffic import partitions_of, write
from tests.support.zk_tree import ZkTree, offset_path
from zkconsumer.cli.commands import every_command
from zkconsumer.cli.parsing import commands_of, innermost, parser_for
from zkconsumer.sandbox import Sandbox

pytestmark = pytest.mark.sandbox

WIDTHS = (200, 80, 60)
SCREEN = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
NUMBER = re.compile(r"(?<![\w.:-])\d+(?![\w.:-])")
CALLS = {
    "lag --group GROUP --no-seconds": 0,
    "lag --group GROUP --no-seconds --max-lag 1": 3,
    "lag --group nobody": 2,
    "lag --group GROUP --watch --count 1 --no-seconds": 0,
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
    "offsets export --group GROUP --output-file saved": 0,
    "offsets export --group GROUP --output-file -": 0,
    "offsets import --input-file saved --dry-run": 0,
    "offsets migrate --group GROUP --from zookeeper --to kafka --dry-run": 0,
    "offsets set --group GROUP --topic TOPIC --to-earliest --dry-run": 0,
    "consume --topic TOPIC --tail 2 --output table": 0,
    "replay --topic TOPIC": 0,
    "perf --topic TOPIC --messages 3 --idle-ms 300": 0,
    "doctor --group GROUP --quick": 3,
    "doctor --ready-for 4.0": 3,
}
"""Each command, and its exit status."""
CHANGING = ("doctor", "perf", "groups watch", "groups list", "topics leaders", "consume", "produce")
"""Commands whose output differs from run to run."""


class LongNames(NamedTuple):
    """A topic and a group with long names."""

    cluster: Sandbox
    topic: str
    group: str


@pytest.fixture(scope="module")
def world(cluster: Sandbox) -> LongNames:
    """Create a group that has committed, and has no members."""
    topic = fresh_name("orders-of-the-warehouse")
    group = fresh_name("billing-of-the-warehouse")
    cluster.create_topic(topic, partitions=3)
    partitions = partitions_of(topic, 3)
    tree = ZkTree(cluster)
    for number, tp in enumerate(partitions):
        write(cluster, tp, [b"value"] * 12)
        tree.put(offset_path(group, tp), str(7 + number).encode())
    return LongNames(cluster, topic, group)


def command_line(world: LongNames, words: str) -> list[str]:
    """Return the arguments of a call, with the world's names."""
    names = {"TOPIC": world.topic, "GROUP": world.group, "TOPIC-more": f"{world.topic}-more"}
    arguments = [names.get(word, word) for word in words.split()]
    return [*arguments, "--zookeeper", world.cluster.zookeeper_connect]


@pytest.mark.parametrize("words", CALLS)
def test_a_command_fits_its_terminal(world: LongNames, tmp_path: Path, words: str) -> None:
    """Tables fit the terminal, every width shows all numbers, and the status is the same."""
    wide: set[str] | None = None
    (tmp_path / "saved").write_text(f"/consumers/{world.group}/offsets/{world.topic}/0:7\n")
    for columns in WIDTHS:
        status, out, err = in_terminal(
            command_line(world, words), columns, folder=tmp_path, given="value\n"
        )
        assert status == CALLS[words], err
        assert "Traceback" not in err
        out = SCREEN.sub("", out)
        too_long = [line for line in out.splitlines() if len(line) > columns]
        assert [line for line in too_long if " " in line.strip()] == [], "names are never cut"
        numbers = set(NUMBER.findall(out))
        wide = numbers if wide is None else wide
        if not words.startswith(CHANGING):
            assert wide <= numbers


def test_each_command_of_the_page_is_tested() -> None:
    """That includes the subcommands that docs/tools.md names."""
    page = (ROOT / "docs" / "tools.md").read_text("utf-8")
    called_here = {tuple(words.split()[:2]) for words in CALLS}
    named = set(named_commands(page))
    assert {("groups", "watch"), ("offsets", "import"), ("lag",)} <= named
    missing = {words for words in named if not any(words == c[: len(words)] for c in called_here)}
    assert missing == set()


def named_commands(page: str) -> Iterator[tuple[str, ...]]:
    """Yield the commands that a page names, each with its subcommand if it has one.

    A command follows the program's name, or begins a code span; a subcommand on its own belongs to
    the command named last, or to the section's command.
    """
    subcommands = {command.name: subcommands_of(command.name) for command in every_command()}
    for section in re.split(r"^## ", page, flags=re.MULTILINE):
        last = own = next((word for word in re.findall(r"[\w-]+", section)[1:2]), "")
        for code in re.findall(r"`+([^`]+)`+", section):
            lines = code.strip().splitlines()
            # In an example, skip the command's output.
            command_line = (
                lines if len(lines) == 1 else [line for line in lines if "zkconsumer" in line]
            )
            words = " ".join(command_line).split()
            for before, word, after in zip(["", *words], words, [*words[1:], ""], strict=False):
                among = [command for command in (last, own) if word in subcommands.get(command, ())]
                if among and before != "zkconsumer":
                    yield (among[0], word)
                elif word in subcommands:
                    last = word
                    yield (word, after) if after in subcommands[word] else (word,)


def subcommands_of(command: str) -> tuple[str, ...]:
    """Return the subcommands of a command."""
    parser = innermost(parser_for([command]), [command])
    actions = [action.choices for action in parser._actions if action.dest == "action"]
    return (*commands_of(parser), *(word for choices in actions for word in choices or ()))
