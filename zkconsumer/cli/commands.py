"""The table of commands: names, summaries, modules.

A command is a module with ``add_parser(subparsers)``, which sets ``run`` as a default of its
parser: a function from the parsed arguments to the exit status. It is imported on use, so that
``zkconsumer lag`` does not wait for what only ``zkconsumer drain`` needs.
"""

import argparse
from importlib import import_module
from typing import Final, NamedTuple, Protocol, TypeAlias, cast

# A class in argparse without a public name, generic only in annotations.
Subparsers: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"  # noqa: SLF001


class Command(NamedTuple):
    """A command.

    Attributes:
        name: as users type it.
        summary: one line for the help.
        module: below ``zkconsumer.cli``; None: the command's name.
    """

    name: str
    summary: str
    module: str | None = None


class Section(NamedTuple):
    """A section of commands in the help."""

    title: str
    commands: tuple[Command, ...]


class CommandModule(Protocol):
    """The interface of a command's module."""

    def add_parser(self, subparsers: Subparsers, /) -> None:
        """Add the command's parser; ``run`` is set as its default."""


SECTIONS: Final = (
    Section(
        "Looking at a cluster (nothing is changed)",
        (
            Command("groups", "list, describe and watch consumer groups; delete them, if asked"),
            Command("lag", "how far groups are behind, in records and in seconds"),
            Command("verify", "whether every partition of a group is owned as it should be"),
            Command("doctor", "what is wrong with a cluster and its groups, and what helps"),
            Command("topics", "list and describe topics; create, alter and delete them, if asked"),
            Command("get-offset", "the offsets of a topic, by time", "get_offset"),
            Command("assign", "who would get what with more members or streams"),
            Command("watch", "tell when a group gets into trouble and out of it: Slack, mail, ..."),
            Command("serve", "a web page of the whole cluster, and its metrics for Prometheus"),
        ),
    ),
    Section(
        "Reading messages",
        (
            Command("consume", "print the messages of topics, as a member of a consumer group"),
            Command("replay", "print a range of offsets or times, beside all groups"),
            Command("perf", "measure how fast topics can be read"),
        ),
    ),
    Section(
        "Writing messages",
        (Command("produce", "write lines of text or JSON as messages of a topic"),),
    ),
    Section(
        "Changing where groups stand",
        (Command("offsets", "export, import, set and migrate the offsets of groups"),),
    ),
    Section(
        "Moving data out",
        (
            Command("mirror", "copy topics to another cluster as they grow, losing nothing"),
            Command(
                "drain",
                "land topics as files, as a Delta table or in another cluster, exactly once",
            ),
        ),
    ),
    Section(
        "Trying things out, and the shell",
        (
            Command("sandbox", "run a real ZooKeeper and Kafka right here"),
            Command("demo", "play a mixed consumer group on a sandbox, with faults, and count"),
            Command("completion", "print what bash, zsh or fish need to complete commands"),
            Command("man", "show the manual of all commands"),
        ),
    ),
)


def every_command() -> tuple[Command, ...]:
    """Return all commands, in the order of the help."""
    return tuple(command for section in SECTIONS for command in section.commands)


def find_command(name: str) -> Command | None:
    """Return the command of this name."""
    return next((command for command in every_command() if command.name == name), None)


def add_command(command: Command, subparsers: Subparsers) -> None:
    """Import a command, and add its parser."""
    module = import_module(f"zkconsumer.cli.{command.module or command.name}")
    cast("CommandModule", module).add_parser(subparsers)
