import argparse

import pytest

from zkconsumer.assignment.filters import Blacklist, Whitelist
from zkconsumer.cli.consume.command import free_group
from zkconsumer.cli.consume.format import TextFormat, json_line
from zkconsumer.cli.consume.settings import ConsoleSettings, console_settings
from zkconsumer.cli.parsing import build_parser
from zkconsumer.errors import ConfigError


def parse(*arguments: str) -> argparse.Namespace:
    """The parsed command line ``consume ...``."""
    return build_parser().parse_args(["consume", *arguments])


def settings(*arguments: str, **file: str) -> ConsoleSettings:
    """What a command line and a file come to; underscores in the file's keys stand for dots."""
    return console_settings(
        parse(*arguments), {key.replace("_", "."): value for key, value in file.items()}
    )


def test_a_plain_command_line_starts_at_the_end_in_no_group() -> None:
    """As the original: what comes from now on, in a group that is made up."""
    found = settings("--zookeeper", "h:1/k", "--topic", "logs")
    assert found.settings == {"zookeeper.connect": "h:1/k", "auto.offset.reset": "largest"}
    assert found.group_id is None
    assert found.topic_filter == Whitelist("logs")
    assert found.formatter == TextFormat()
    assert found.max_messages is None
    assert not found.from_beginning
    assert not found.delete_offsets


def test_the_command_line_wins_over_the_file() -> None:
    """Where ZooKeeper is, how long to wait, and where to start."""
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


def test_the_file_counts_where_the_command_line_says_nothing() -> None:
    """Where to start included."""
    found = settings("--topic", "t", zookeeper_connect="h:1", auto_offset_reset="smallest")
    assert found.settings["auto.offset.reset"] == "smallest"
    assert found.settings["zookeeper.connect"] == "h:1"


def test_the_group_comes_from_either_place() -> None:
    """But two different ones are a mistake."""
    assert settings("--topic", "t", "--group", "g").group_id == "g"
    assert settings("--topic", "t", group_id="g").group_id == "g"
    assert settings("--topic", "t", "--group", "g", group_id="g").group_id == "g"
    with pytest.raises(ConfigError, match=r"group\.id is f in the file and g in --group"):
        settings("--topic", "t", "--group", "g", group_id="f")


def test_filters_are_what_they_are_named() -> None:
    """A topic is a whitelist, too."""
    assert settings("--whitelist", "a,b").topic_filter == Whitelist("a,b")
    assert settings("--blacklist", "a.*").topic_filter == Blacklist("a.*")
    with pytest.raises(ConfigError, match="filter"):
        settings("--topic", "a{")


def test_the_output_is_text_or_json() -> None:
    """Properties shape the text, and only that."""
    shaped = settings(
        *("--topic", "t", "--property", "print.key=true", "--property", "key.separator==")
    )
    assert shaped.formatter == TextFormat(print_key=True, key_separator=b"=")
    assert settings("--topic", "t", "--output", "json").formatter is json_line
    with pytest.raises(ConfigError, match="--property"):
        settings("--topic", "t", "--output", "json", "--property", "print.key=true")


def test_a_negative_number_of_messages_means_no_end() -> None:
    """As in the original."""
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
def test_wrong_usage_ends_with_2(
    arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    """In one line, which says where to read on."""
    with pytest.raises(SystemExit) as ended:
        parse(*arguments)
    assert ended.value.code == 2
    reported = capsys.readouterr().err
    assert reported.endswith(" --help)\n")
    assert reported.count("\n") == 1


def test_brokers_keep_the_group_where_a_bootstrap_server_is_given() -> None:
    """On the command line or in the file; a topic is then what was written, not an expression."""
    found = settings("--bootstrap-server", "h:1", "--topic", "a,b")
    assert found.has_coordinator
    assert (found.topic, found.settings["bootstrap.servers"]) == ("a,b", "h:1")
    found = settings("--whitelist", "a.*", bootstrap_servers="h:1,i:2")
    assert found.has_coordinator
    assert found.topic is None
    assert not settings("--zookeeper", "h:1", "--topic", "t").has_coordinator


def test_one_keeper_of_the_group_is_enough() -> None:
    """Whoever gives two must choose."""
    with pytest.raises(ConfigError, match="in ZooKeeper or at the brokers"):
        settings("--bootstrap-server", "h:1", "--topic", "t", zookeeper_connect="z:1")


def test_a_made_up_group_is_one_that_nobody_uses() -> None:
    """It is deleted at the end, so it must be ours alone."""
    numbers = iter((5, 5, 17))
    taken = {"console-consumer-5"}
    assert free_group(taken.__contains__, lambda _: next(numbers)) == "console-consumer-17"
    with pytest.raises(ConfigError, match="--group"):
        free_group(lambda _: True, lambda _: 0)
