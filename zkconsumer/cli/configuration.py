"""The configuration file: default values of the commands' options.

It is TOML, at ``$ZKCONSUMER_CONFIG``, else ``$XDG_CONFIG_HOME/zkconsumer/config.toml``
(``~/.config/...``). Its values are used as the options' defaults: the command line wins.

.. code-block:: toml

    zookeeper = "zk1:2181,zk2:2181/kafka"   # for all commands that have --zookeeper

    [lag]                                   # for `zkconsumer lag`
    format = "json"

    [offsets.export]                        # for `zkconsumer offsets export`
    output-file = "offsets.txt"

    [clusters.plant]                        # with `zkconsumer --cluster plant`
    zookeeper = "plant-zk:2181"

    [clusters.new]                          # one that has no ZooKeeper
    bootstrap-server = "kafka1:9092,kafka2:9092"

    [notify.to.pager]                       # the targets of serve and watch; see docs/watch.md
    type = "pagerduty"
    routing-key-file = "/etc/zkconsumer/pagerduty"
"""

import argparse
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

from zkconsumer.cli.commands import every_command
from zkconsumer.cli.parsing import commands_of, exclusive_groups, members_of, options_of
from zkconsumer.errors import ConfigError
from zkconsumer.nearest import did_you_mean

Scalar: TypeAlias = str | int | float | bool
Table: TypeAlias = Mapping[str, object]

VARIABLE: Final = "ZKCONSUMER_CONFIG"
ADDRESS_VARIABLE: Final = "ZKCONSUMER_ZOOKEEPER"
"""The variable that replaces the file's addresses; ``--cluster`` and options win over it."""
EVERYWHERE: Final = ("zookeeper", "bootstrap-server", "command-config", "timeout-ms")
"""The keys allowed outside of the commands' tables; they apply to all commands."""

_CLUSTERS: Final = "clusters"
_CLUSTER: Final = "cluster"
_NOTIFY: Final = "notify"
# Options that take a risk must be given each time.
_NEVER: Final = frozenset(
    {"yes", "execute", "force", "fix", "help", "roll-back", "undo", "no-token", "delete"}
    | {"delete-consumer-offsets"}
)
_ADDRESSES: Final = ("zookeeper", "bootstrap-server")
"""The options for a cluster's address: one of them, or both."""
# On the command line brokers, a ZooKeeper or --clusters replace the file's cluster.
_BROKERS: Final = "--bootstrap-server"
_PLACES: Final = ("zookeeper", "broker_list", "clusters")
_EITHER_OR: Final = "bootstrap_server"
"""The destination of ``--bootstrap-server`` in commands in which it excludes ``--zookeeper``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """The content of a configuration file.

    Attributes:
        name: the name of the file, for messages.
        everywhere: the values for all commands.
        commands: the values of each command by its name; nested for its subcommands.
        clusters: values that replace ``everywhere``, by cluster name.
        cluster: the default of ``--cluster``.
        notify: the settings of notifications, which ``serve`` and ``watch`` read.
    """

    name: str = ""
    everywhere: Mapping[str, Scalar] = field(default_factory=dict)
    commands: Mapping[str, Table] = field(default_factory=dict)
    clusters: Mapping[str, Mapping[str, Scalar]] = field(default_factory=dict)
    cluster: str | None = None
    notify: Table = field(default_factory=dict)

    def shared(self, cluster_name: str | None) -> Mapping[str, Scalar]:
        """Return the values for all commands, with those of a cluster.

        Raises:
            ConfigError: there is no such cluster.
        """
        wanted = cluster_name or self.cluster
        if wanted is None:
            return self.everywhere
        if wanted not in self.clusters:
            raise ConfigError(
                f"{self.name} has no [clusters.{wanted}]{did_you_mean(wanted, list(self.clusters))}"
            )
        cluster, everywhere = self.clusters[wanted], self.everywhere
        if not cluster.keys().isdisjoint(_ADDRESSES):
            # The cluster's address replaces both options: a mix would address two clusters.
            everywhere = _without_addresses(everywhere)
        return {**everywhere, **cluster}

    def with_environment(self, environment: Mapping[str, str]) -> "Configuration":
        """Return this, with the address in ``$ZKCONSUMER_ZOOKEEPER`` in place of the file's."""
        zookeeper = environment.get(ADDRESS_VARIABLE)
        if not zookeeper:
            return self
        everywhere = _without_addresses(self.everywhere)
        return replace(self, everywhere={**everywhere, "zookeeper": zookeeper}, cluster=None)


def _without_addresses(settings: Mapping[str, Scalar]) -> dict[str, Scalar]:
    return {key: value for key, value in settings.items() if key not in _ADDRESSES}


def find_file(environment: Mapping[str, str], home: Path) -> Path | None:
    """Return the path of the file; None if there is none.

    Raises:
        ConfigError: the file named by the environment does not exist.
    """
    named = environment.get(VARIABLE)
    if named is not None:
        if not named:
            return None  # set to the empty text: no file
        if not Path(named).is_file():
            raise ConfigError(f"{VARIABLE} names {named}, which is not a file")
        return Path(named)
    base = environment.get("XDG_CONFIG_HOME")
    path = (Path(base) if base else home / ".config") / "zkconsumer" / "config.toml"
    return path if path.is_file() else None


def user_configuration() -> Configuration | None:
    """Return the user's configuration; None if there is no file.

    Raises:
        ConfigError: it can't be read, is not TOML, or has an unknown key.
    """
    file = find_file(os.environ, Path.home())
    return None if file is None else read_configuration(file)


def read_configuration(path: Path) -> Configuration:
    """Read the file.

    Raises:
        ConfigError: it can't be read, is not TOML, or has an unknown key.
    """
    try:
        return parse_configuration(path.read_text(encoding="utf-8"), str(path))
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} is not UTF-8: {error}") from error


def parse_configuration(text: str, name: str) -> Configuration:
    """Parse the text of a file.

    Raises:
        ConfigError: it is not TOML, or has an unknown key.
    """
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{name} is not TOML: {error}") from error
    everywhere: dict[str, Scalar] = {}
    commands: dict[str, Table] = {}
    known = [command.name for command in every_command()]
    for key, value in table.items():
        if key in {_CLUSTERS, _CLUSTER, _NOTIFY}:
            continue
        if isinstance(value, dict):
            if key not in known:
                raise ConfigError(f"{name}: there is no command [{key}]{did_you_mean(key, known)}")
            commands[key] = value
        else:
            everywhere[key] = _shared_value(name, "", key, value)
    return Configuration(
        name=name,
        everywhere=everywhere,
        commands=commands,
        clusters=_clusters(table.get(_CLUSTERS, {}), name),
        cluster=_cluster(table.get(_CLUSTER), name),
        notify=_notify(table.get(_NOTIFY, {}), name),
    )


def _clusters(value: object, name: str) -> dict[str, dict[str, Scalar]]:
    if not isinstance(value, dict) or not all(
        isinstance(section, dict) for section in value.values()
    ):
        raise ConfigError(f"{name}: clusters are tables: [clusters.NAME]")
    return {
        cluster: {
            key: _shared_value(name, f"[clusters.{cluster}] ", key, setting)
            for key, setting in table.items()
        }
        for cluster, table in value.items()
    }


def _cluster(value: object, name: str) -> str | None:
    if value is None or isinstance(value, str):
        return value
    raise ConfigError(f"{name}: cluster is the name of one of [clusters.NAME], not {value!r}")


def _notify(value: object, name: str) -> Table:
    if isinstance(value, dict):
        return value
    raise ConfigError(f"{name}: notify is a table: [notify]")


def _shared_value(name: str, where: str, key: str, value: object) -> Scalar:
    if key not in EVERYWHERE:
        raise ConfigError(
            f"{name}: {where}{key} is none of {', '.join(EVERYWHERE)}; settings of one command "
            "belong in a table of its name, such as [lag]"
        )
    return _scalar(name, key, value)


def _scalar(name: str, key: str, value: object) -> Scalar:
    if isinstance(value, str | int | float | bool):
        return value
    raise ConfigError(f"{name}: {key} is {value!r}: expected a string, a number, true or false")


class _Set(NamedTuple):
    """An option with a changed default, its former default, and the options it excludes."""

    action: argparse.Action
    before: object
    rivals: tuple[argparse.Action, ...]


class Defaults:
    """Applies the file's values to the parsers of one command."""

    def __init__(self, configuration: Configuration, cluster_name: str | None) -> None:
        self._configuration = configuration
        self._shared = configuration.shared(cluster_name)
        self._set: list[_Set] = []

    def apply(self, command: str, parser: argparse.ArgumentParser) -> None:
        """Set the defaults of a command and its subcommands.

        Raises:
            ConfigError: the file has a key or value that the command does not accept.
        """
        self._apply_shared(parser)
        self._apply_table(self._configuration.commands.get(command, {}), parser, command)

    def settle(self, args: argparse.Namespace) -> None:
        """Reset defaults that options on the command line exclude."""
        for setting in self._set:
            given = any(
                getattr(args, action.dest, action.default) != action.default
                for action in setting.rivals
            )
            if given and str(getattr(args, setting.action.dest, None)) == str(
                setting.action.default
            ):
                setattr(args, setting.action.dest, setting.before)
        if getattr(args, _CLUSTERS, None):
            self._reset_addresses(args)

    def _reset_addresses(self, args: argparse.Namespace) -> None:
        """Reset defaults that ``--clusters`` replaces, even if ``--clusters`` is from the file."""
        for action, before, _ in self._set:
            is_address = action.dest in {"zookeeper", "bootstrap_servers"}
            if is_address and getattr(args, action.dest) == action.default:
                setattr(args, action.dest, before)

    def _apply_shared(self, parser: argparse.ArgumentParser) -> None:
        options = options_of(parser)
        for key, value in self._shared.items():
            action = options.get(f"--{key}")
            if action is not None and not self._is_spare(key, action):
                self._set_default(parser, action, key, value)
        for below in commands_of(parser).values():
            self._apply_shared(below)

    def _is_spare(self, key: str, action: argparse.Action) -> bool:
        """Return whether to ignore the file's brokers, since the command takes its ZooKeeper."""
        return key != "zookeeper" and action.dest == _EITHER_OR and "zookeeper" in self._shared

    def _apply_table(self, table: Table, parser: argparse.ArgumentParser, path: str) -> None:
        options, below = options_of(parser), commands_of(parser)
        name = self._configuration.name
        for key, value in table.items():
            if isinstance(value, dict) and key in below:
                self._apply_table(value, below[key], f"{path}.{key}")
                continue
            action = options.get(f"--{key}")
            if action is None:
                known = [option.removeprefix("--") for option in options if option.startswith("--")]
                raise ConfigError(
                    f"{name}: [{path}] has no {key}{did_you_mean(key, [*known, *below])}"
                )
            if key in _NEVER:
                raise ConfigError(f"{name}: [{path}] {key} can only be given on the command line")
            self._set_default(parser, action, key, _scalar(name, key, value))

    def _set_default(
        self, parser: argparse.ArgumentParser, action: argparse.Action, key: str, value: Scalar
    ) -> None:
        name = self._configuration.name
        self._set.append(_Set(action, action.default, _rivals(parser, action)))
        if action.nargs == 0:
            if not isinstance(value, bool):
                raise ConfigError(f"{name}: {key} is {value!r}: expected true or false")
            if not value:
                return
            action.default = getattr(action, "const", True)
        elif isinstance(value, bool) or action.nargs is not None or _gathers(action):
            raise ConfigError(f"{name}: {key} can't be set to {value!r} in a file")
        else:
            text = str(value)
            if action.choices is not None and text not in map(str, action.choices):
                raise ConfigError(
                    f"{name}: {key} is {text!r}: one of {', '.join(map(str, action.choices))} is "
                    "expected"
                )
            # argparse converts a default text by the option's own type.
            action.default = text
        action.required = False
        for group in exclusive_groups(parser, action):
            group.required = False


def _rivals(
    parser: argparse.ArgumentParser, action: argparse.Action
) -> tuple[argparse.Action, ...]:
    found = [member for group in exclusive_groups(parser, action) for member in members_of(group)]
    options = options_of(parser)
    brokers = options.get(_BROKERS)
    places = [option for option in options.values() if option is brokers or option.dest in _PLACES]
    if action in places:
        found += places
    return tuple(option for option in found if option is not action)


def _gathers(action: argparse.Action) -> bool:
    """Return whether an option can be given repeatedly."""
    return isinstance(action.default, list) or type(action).__name__ == "_AppendAction"
