from pathlib import Path

import pytest

from zkconsumer.cli.configuration import (
    Configuration,
    Defaults,
    find_file,
    parse_configuration,
    read_configuration,
)
from zkconsumer.cli.parsing import Parser, build_parser, commands_of
from zkconsumer.errors import ConfigError


def parser() -> Parser:
    """Build a parser with an option of each type."""
    made = Parser(prog="x")
    made.add_argument("--zookeeper")
    made.add_argument("--bootstrap-server")
    made.add_argument("--max", type=int, default=1)
    made.add_argument("--format", choices=("table", "json"), default="table")
    made.add_argument("--watch", action="store_true")
    made.add_argument("--topic", action="append")
    made.add_argument("--force", action="store_true")
    one_of = made.add_mutually_exclusive_group(required=True)
    one_of.add_argument("--earliest", action="store_true")
    one_of.add_argument("--to")
    return made


def parsed(text: str, *words: str, cluster: str | None = None) -> dict[str, object]:
    """Return the parsed arguments with this configuration file."""
    return parsed_by(parser(), text, *words, cluster=cluster)


def parsed_by(
    made: Parser, text: str, *words: str, cluster: str | None = None
) -> dict[str, object]:
    """Return what another parser makes of them."""
    defaults = Defaults(parse_configuration(text, "c.toml"), cluster)
    defaults.apply("lag", made)
    args = made.parse_args(words)
    defaults.settle(args)
    return vars(args)


def test_the_file_is_the_default_and_the_command_line_wins() -> None:
    """Numbers of the file are converted by the option's own type."""
    text = 'zookeeper = "zk:1"\n[lag]\nmax = 5\nformat = "json"\nwatch = true\nto = "here"\n'
    assert parsed(text) == {
        "zookeeper": "zk:1",
        "bootstrap_server": None,
        "max": 5,
        "format": "json",
        "watch": True,
        "topic": None,
        "force": False,
        "earliest": False,
        "to": "here",
    }
    found = parsed(text, "--max", "7", "--zookeeper", "other:2", "--earliest")
    assert (found["max"], found["zookeeper"]) == (7, "other:2")
    assert (found["earliest"], found["to"]) == (True, None)


def test_brokers_on_the_command_line_replace_the_file_s_cluster() -> None:
    """A ZooKeeper that is typed as well stays, so that the command can refuse both."""
    text = 'zookeeper = "zk:1"\n[lag]\nearliest = true\n'
    assert parsed(text, "--bootstrap-server", "b:1")["zookeeper"] is None
    assert parsed(text, "--to", "x")["earliest"] is False
    both = parsed(text, "--bootstrap-server", "b:1", "--zookeeper", "typed:2")
    assert both["zookeeper"] == "typed:2"


def test_a_named_cluster_overrides_the_top_level_address() -> None:
    """The cluster is named by the file itself or by ``--cluster``."""
    text = (
        'zookeeper = "all:1"\ncluster = "a"\n[clusters.a]\nzookeeper = "a:1"\n'
        '[clusters.b]\nzookeeper = "b:1"\n'
    )
    assert parsed(text, "--earliest")["zookeeper"] == "a:1"
    assert parsed(text, "--earliest", cluster="b")["zookeeper"] == "b:1"
    with pytest.raises(ConfigError, match=r"no \[clusters.bb\]: did you mean b\?"):
        parsed(text, "--earliest", cluster="bb")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("zookeeper = ", "c.toml is not TOML"),
        ("max = 5", r"max is none of zookeeper.*\[lag\]"),
        ("[lagg]\nmax = 1", r"no command \[lagg\]: did you mean lag\?"),
        ("[lag]\nmx = 1", r"\[lag\] has no mx: did you mean max\?"),
        ("[lag]\nforce = true", "force can only be given on the command line"),
        ('[lag]\nwatch = "yes"', "watch is 'yes': expected true or false"),
        ('[lag]\nformat = "xml"', "format is 'xml': one of table, json is expected"),
        ('[lag]\ntopic = "t"', "topic can't be set to 't' in a file"),
        ("[lag]\nmax = [1]", r"max is \[1\]"),
        ("[lag]\nmax = true", "max can't be set to True"),
        ("clusters = 3", r"clusters are tables"),
        ("[clusters]\na = 3", r"clusters are tables"),
        ("cluster = 3", "cluster is the name"),
        ("[clusters.a]\nmax = 3", r"\[clusters.a\] max is none of"),
    ],
)
def test_an_invalid_file_is_refused(text: str, message: str) -> None:
    """The error names the key and what is expected."""
    with pytest.raises(ConfigError, match=message):
        parsed(text, "--earliest")


@pytest.mark.parametrize(
    ("command", "key"),
    [
        ("perf", "delete-consumer-offsets"),
        ("consume", "delete-consumer-offsets"),
        ("groups", "delete"),
    ],
)
def test_deletions_cannot_be_configured_in_the_file(command: str, key: str) -> None:
    """A forgotten line in a file must not delete offsets."""
    defaults = Defaults(parse_configuration(f"[{command}]\n{key} = true", "c.toml"), None)
    with pytest.raises(ConfigError, match=f"{key} can only be given on the command line"):
        defaults.apply(command, commands_of(build_parser(command))[command])


def test_a_table_may_be_of_one_subcommand() -> None:
    """The table ``[offsets.export]`` applies to ``zkconsumer offsets export`` alone."""
    top = Parser(prog="x")
    commands = top.add_subparsers()
    for name in ("export", "import"):
        commands.add_parser(name).add_argument("--file")
    text = '[offsets.export]\nfile = "f"\n'
    Defaults(parse_configuration(text, "c.toml"), None).apply("offsets", top)
    assert (top.parse_args(["export"]).file, top.parse_args(["import"]).file) == ("f", None)


def test_the_file_is_found_by_environment_or_home(tmp_path: Path) -> None:
    """The environment names the file; otherwise it is below the home directory."""
    file = tmp_path / ".config/zkconsumer/config.toml"
    assert find_file({}, tmp_path) is None
    file.parent.mkdir(parents=True)
    file.write_text('zookeeper = "z:1"\n')
    assert find_file({}, tmp_path) == file
    assert find_file({"XDG_CONFIG_HOME": str(tmp_path)}, tmp_path) is None
    assert find_file({"ZKCONSUMER_CONFIG": ""}, tmp_path) is None
    assert find_file({"ZKCONSUMER_CONFIG": str(file)}, Path("/nowhere")) == file
    with pytest.raises(ConfigError, match="ZKCONSUMER_CONFIG names /no/file"):
        find_file({"ZKCONSUMER_CONFIG": "/no/file"}, tmp_path)
    assert read_configuration(file) == Configuration(
        name=str(file), everywhere={"zookeeper": "z:1"}
    )


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    """The error names a file that is missing or has another encoding."""
    with pytest.raises(ConfigError, match=r"cannot read .*none: No such file"):
        read_configuration(tmp_path / "none")
    (tmp_path / "latin").write_bytes(b'zookeeper = "\xe4"')
    with pytest.raises(ConfigError, match="latin is not UTF-8"):
        read_configuration(tmp_path / "latin")


ALONE = (
    'zookeeper = "zk:1"\n[clusters.new]\nbootstrap-server = "b:2"\n'
    '[clusters.both]\nzookeeper = "zk:3"\nbootstrap-server = "b:3"\n'
)


def address(*words: str, cluster: str | None = None) -> tuple[object, object]:
    """Return the addresses of ZooKeeper and of the brokers."""
    found = parsed_by(address_parser(), ALONE, *words, cluster=cluster)
    return found["zookeeper"], found["bootstrap_servers"]


def address_parser() -> Parser:
    """Build the parser of a command that takes either address or both."""
    made = Parser(prog="x")
    made.add_argument("--zookeeper")
    made.add_argument("--bootstrap-server", dest="bootstrap_servers")
    return made


def test_a_cluster_in_the_file_may_have_only_brokers() -> None:
    """A named cluster has only its own addresses; the default's are not added."""
    assert address() == ("zk:1", None)
    assert address(cluster="new") == (None, "b:2")
    assert address(cluster="both") == ("zk:3", "b:3")


def test_an_address_on_the_command_line_replaces_both_of_the_file() -> None:
    """The other address of the file's cluster is not used beside it."""
    assert address("--bootstrap-server", "x:9") == (None, "x:9")
    assert address("--zookeeper", "x:9", cluster="new") == ("x:9", None)
    assert address("--zookeeper", "x:9", cluster="both") == ("x:9", None)
    assert address("--bootstrap-server", "x:9", cluster="both") == (None, "x:9")
    assert address("--zookeeper", "x:8", "--bootstrap-server", "x:9") == ("x:8", "x:9")


def test_a_command_with_one_address_prefers_zookeeper() -> None:
    """If the file has both addresses, such a command uses ZooKeeper."""
    both = parsed('zookeeper = "zk:3"\nbootstrap-server = "b:3"\n', "--to", "x")
    assert (both["zookeeper"], both["bootstrap_server"]) == ("zk:3", None)
    assert parsed('bootstrap-server = "b:2"\n', "--to", "x")["bootstrap_server"] == "b:2"


def test_the_environment_replaces_the_file_s_addresses() -> None:
    """It also replaces the default cluster; an empty variable has no effect."""
    file = Configuration(
        everywhere={"bootstrap-server": "b:1", "timeout-ms": 5},
        clusters={"plant": {"zookeeper": "plant:2181"}},
        cluster="plant",
    )
    found = file.with_environment({"ZKCONSUMER_ZOOKEEPER": "zk:2181/kafka"})
    assert found.shared(None) == {"timeout-ms": 5, "zookeeper": "zk:2181/kafka"}
    assert file.with_environment({"ZKCONSUMER_ZOOKEEPER": ""}) is file


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ((), ("file:1", None, None)),
        (("--zookeeper", "zk:1"), (None, "zk:1", None)),
        (("--bootstrap-server", "b:1"), (None, None, "b:1")),
    ],
)
def test_the_file_s_broker_list_gives_way_to_an_address_of_the_command_line(
    words: tuple[str, ...], expected: tuple[str | None, ...]
) -> None:
    """The command would query the brokers of the file otherwise, which may be another cluster."""
    made = commands_of(build_parser("get-offset"))["get-offset"]
    defaults = Defaults(parse_configuration('[get-offset]\nbroker-list = "file:1"', "c.toml"), None)
    defaults.apply("get-offset", made)
    args = made.parse_args(["--topic", "t", *words])
    defaults.settle(args)
    assert (args.broker_list, args.zookeeper, args.bootstrap_servers) == expected
