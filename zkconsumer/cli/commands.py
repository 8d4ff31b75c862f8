"""The table of commands: names and summaries.

A command is a module, imported on use, so that ``zkconsumer lag`` does not load the dependencies of
``zkconsumer drain``. It holds:

- ``DESCRIPTION``, and optionally ``EPILOG``, for its help; for a subcommand also ``SUMMARY``, one
  line;
- ``ALLOW_ABBREV = True`` if flags may be abbreviated, as those of the original could;
- ``add_arguments(parser)``;
- ``run(args)``, which gets the parsed arguments and returns the exit status. ``main`` reports what
  it raises: ``ZkConsumerError`` or ``OSError`` if the cluster or a file could not be used (status
  1), ``ConfigError`` if it has changed nothing (status 2).
"""

import argparse
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Final, NamedTuple, TypeAlias

# A class in argparse without a public name, generic only in annotations.
Subparsers: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"  # noqa: SLF001


class Command(NamedTuple):
    """A command: its name as users type it, and one line for the help."""

    name: str
    summary: str


class Section(NamedTuple):
    """A section of commands in the help."""

    title: str
    commands: tuple[Command, ...]


SECTIONS: Final = (
    Section(
        "Inspecting a cluster (nothing is changed without confirmation)",
        (
            Command("groups", "list, describe, watch and delete consumer groups"),
            Command("lag", "how far groups are behind, in records and in seconds"),
            Command("verify", "whether every partition of a group is owned as it should be"),
            Command("doctor", "what is wrong with a cluster and its groups, and how to repair it"),
            Command("topics", "list, describe, create, alter and delete topics"),
            Command("get-offset", "the offsets of a topic, by time"),
            Command("assign", "the assignment with other numbers of members or streams"),
            Command(
                "watch", "notify when a group gets into trouble and out of it: Slack, mail, ..."
            ),
            Command("serve", "a web page of the whole cluster, and its metrics for Prometheus"),
        ),
    ),
    Section(
        "Reading messages",
        (
            Command("consume", "print the messages of topics, as a member of a consumer group"),
            Command("replay", "print a range of offsets or times, without a group"),
            Command("perf", "measure how fast topics can be read"),
        ),
    ),
    Section(
        "Writing messages",
        (Command("produce", "write lines of text or JSON as messages of a topic"),),
    ),
    Section(
        "Changing the offsets of groups",
        (Command("offsets", "export, import, set and migrate the offsets of groups"),),
    ),
    Section(
        "Moving data out",
        (
            Command("mirror", "copy topics to another cluster as they grow, without loss"),
            Command(
                "drain",
                "land topics as files, as a Delta table or in another cluster, exactly once",
            ),
        ),
    ),
    Section(
        "Trying things out, and the shell",
        (
            Command("sandbox", "run a real ZooKeeper and Kafka on this machine"),
            Command("demo", "run a mixed consumer group on a sandbox, with faults and an audit"),
            Command("completion", "print the shell code that completes commands (bash, zsh, fish)"),
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


def load_command(command: Command) -> ModuleType:
    """Import a command's module: of its name, or ``command`` in the folder of its name."""
    name = f"zkconsumer.cli.{command.name.replace('-', '_')}"
    found = find_spec(name)
    is_folder = found is not None and found.submodule_search_locations is not None
    return import_module(f"{name}.command" if is_folder else name)


def add_command(subparsers: Subparsers, name: str, module: ModuleType, summary: str) -> None:
    """Add the parser of a command or subcommand, as its module describes it."""
    parser = subparsers.add_parser(
        name,
        help=summary,
        description=module.DESCRIPTION,
        epilog=getattr(module, "EPILOG", None),
        allow_abbrev=getattr(module, "ALLOW_ABBREV", False),
    )
    parser.set_defaults(run=getattr(module, "run", None))
    module.add_arguments(parser)
