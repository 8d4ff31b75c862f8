import argparse

import pytest

from zkconsumer.assignment.filters import Blacklist, Whitelist
from zkconsumer.cli.consume.command import free_group
from zkconsumer.cli.consume.format import TextFormat, json_line
from zkconsumer.cli.consume.settings import ConsoleSettings, console_settings
from zkconsumer.cli.parsing import build_parser
from zkconsumer.errors import ConfigError


def parse(*arguments: str) -> argparse.Namespace:
    """Return the parsed command line ``consume ...``."""
    return build_parser().parse_args(["consume", *arguments])


def settings(*arguments: str, **file: str) -> ConsoleSettings:
    """Return the settings of a command line and a file, whose keys have underscores for dots."""
    return console_settings(
        parse(*arguments), {key.replace("_", "."): value for key, value in file.items()}
    )


def test_a_plain_command_line_starts_at_the_end_in_no_group() -> None:
    """As in the original, it reads new messages, in a generated group."""
    found = settings("--zookeeper", "h:1/k", "--topic", "logs")
    assert found.settings == {"zookeeper.connect": "h:1/k", "auto.offset.reset": "largest"}
    assert found.group_id is None
    assert found.topic_filter == Whitelist("logs")
    assert found.formatter == TextFormat()
    assert found.max_messages is None
    assert not found.from_beginning
    assert not found.delete_offsets


def test_the_command_line_wins_over_the_file() -> None:
    """The command line overrides the file's ZooKeeper, time-out and start."""
    found = settings(
        *("--zookeeper", "h:1", "--topic", "t", "--timeout-ms", "5", "--from-beginning"),
        zookeeper_connect="other:1",
        consumer_timeout_ms="7",
        auto_offset_reset="largest",
        group_id="g",
        fetch_min_bytes="9",
    )
    assert found.settings == {
        "zookeeper.connect": "h:1",
        "consumer.timeout.ms": "5",
        "auto.offset.reset": "smallest",
        "group.id": "g",
        "fetch.min.bytes": "9",
    }
    assert found.from_beginning


def test_the_file_applies_where_the_command_line_is_silent() -> None:
    """The file may also say where to start."""
    found = settings("--topic", "t", zookeeper_connect="h:1", auto_offset_reset="smallest")
    assert found.settings["auto.offset.reset"] == "smallest"
    assert found.settings["zookeeper.connect"] == "h:1"


def test_the_group_comes_from_either_place() -> None:
    """Two different groups are an error."""
    assert settings("--topic", "t", "--group", "g").group_id == "g"
    assert settings("--topic", "t", group_id="g").group_id == "g"
    assert settings("--topic", "t", "--group", "g", group_id="g").group_id == "g"
    with pytest.raises(ConfigError, match=r"group\.id is f in the file and g in --group"):
        settings("--topic", "t", "--group", "g", group_id="f")


def test_topics_are_selected_by_whitelist_or_blacklist() -> None:
    """``--topic`` is a whitelist as well."""
    assert settings("--whitelist", "a,b").topic_filter == Whitelist("a,b")
    assert settings("--blacklist", "a.*").topic_filter == Blacklist("a.*")
    with pytest.raises(ConfigError, match="filter"):
        settings("--topic", "a{")


def test_the_output_is_text_or_json() -> None:
    """Formatting properties apply to text only."""
    shaped = settings(
        *("--topic", "t", "--property", "print.key=true", "--property", "key.separator==")
    )
    assert shaped.formatter == TextFormat(print_key=True, key_separator=b"=")
    assert settings("--topic", "t", "--output", "json").formatter is json_line
    with pytest.raises(ConfigError, match="--property"):
        settings("--topic", "t", "--output", "json", "--property", "print.key=true")


def test_a_negative_number_of_messages_means_no_limit() -> None:
    """As in the original, ``--max-messages -1`` reads without end."""
    assert settings("--topic", "t", "--max-messages", "-1").max_messages is None
    assert settings("--topic", "t", "--max-messages", "3").max_messages == 3


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("--topic", "a", "--whitelist", "b"),
        ("--topic", "a", "--max-messages", "many"),
        ("--topic", "a", "--timeout-ms", "soon"),
        ("--topic", "a", "--property", "print.key"),
        ("--topic", "a", "--property", "=x"),
        ("--topic", "a", "--output", "xml"),
        ("--topic", "a", "--no-such-flag"),
    ],
)
def test_wrong_usage_exits_with_status_2(
    arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    """The error is one line that refers to ``--help``."""
    with pytest.raises(SystemExit) as ended:
        parse(*arguments)
    assert ended.value.code == 2
    reported = capsys.readouterr().err
    assert reported.endswith(" --help)\n")
    assert reported.count("\n") == 1


def test_a_bootstrap_server_means_a_coordinator_group() -> None:
    """With a bootstrap server, ``--topic`` is a name, not a regular expression."""
    found = settings("--bootstrap-server", "h:1", "--topic", "a,b")
    assert found.has_coordinator
    assert (found.topic, found.settings["bootstrap.servers"]) == ("a,b", "h:1")
    found = settings("--whitelist", "a.*", bootstrap_servers="h:1,i:2")
    assert found.has_coordinator
    assert found.topic is None
    assert not settings("--zookeeper", "h:1", "--topic", "t").has_coordinator


def test_zookeeper_and_bootstrap_server_exclude_each_other() -> None:
    """Only one of them can manage the group."""
    with pytest.raises(ConfigError, match="in ZooKeeper or at the brokers"):
        settings("--bootstrap-server", "h:1", "--topic", "t", zookeeper_connect="z:1")


def test_a_generated_group_does_not_exist_yet() -> None:
    """The group is deleted at the end, so nobody else may use it."""
    numbers = iter((5, 5, 17))
    taken = {"console-consumer-5"}
    assert free_group(taken.__contains__, lambda _: next(numbers)) == "console-consumer-17"
    with pytest.raises(ConfigError, match="--group"):
        free_group(lambda _: True, lambda _: 0)
