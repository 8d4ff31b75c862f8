"""The arguments of ``zkconsumer sandbox up``."""

import argparse

import pytest

from zkconsumer.cli.sandbox import TopicOption, add_arguments, message_count, parse_topic, run
from zkconsumer.errors import SandboxError


def parse(*arguments: str) -> argparse.Namespace:
    """Return the parsed command line ``sandbox up ...``."""
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    return parser.parse_args(["up", *arguments])


def test_the_default_is_one_broker_of_the_default_version() -> None:
    """Ports are chosen by the sandbox."""
    args = parse()
    assert (args.kafka, args.brokers, args.topics) == ("0.8.2.2", 1, [])
    assert (args.zookeeper_port, args.broker_port) == (None, None)


def test_topics_add_up() -> None:
    """``--topic`` may be repeated; the replication factor is 1 unless given."""
    args = parse("--topic", "logs:4", "--topic", "events:8:3")
    assert args.topics == [TopicOption("logs", 4, 1), TopicOption("events", 8, 3)]


@pytest.mark.parametrize(
    "text",
    ["logs", ":4", "logs:0", "logs:x", "logs:1:2:3", "logs:-1", "a:²", f"a:{'1' * 5_000}"],
)
def test_a_malformed_topic_is_refused(text: str) -> None:
    """The error shows the expected form."""
    with pytest.raises(argparse.ArgumentTypeError, match="is not NAME:PARTITIONS"):
        parse_topic(text)


def test_an_unknown_version_is_refused() -> None:
    """The error names the version, before anything starts."""
    with pytest.raises(SandboxError, match=r"the sandbox has no Kafka 0\.7\.2"):
        run(parse("--kafka", "0.7.2"))


def test_broker_ports_follow_the_first() -> None:
    """A first port too high for all brokers is refused before anything starts."""
    with pytest.raises(SandboxError, match="between 1 and 65535"):
        run(parse("--brokers", "2", "--broker-port", "65535"))


def test_sample_messages_need_a_topic() -> None:
    """Without a topic no sample messages would be written."""
    with pytest.raises(SandboxError, match="give --topic, too"):
        run(parse("--sample-messages", "5"))


@pytest.mark.parametrize("text", ["-5", "x", "", "1.5", "9" * 10])
def test_a_number_of_messages_must_be_a_whole_number(text: str) -> None:
    """The error quotes the argument."""
    assert (message_count("0"), message_count("1000")) == (0, 1000)
    with pytest.raises(argparse.ArgumentTypeError, match=f"'{text}' is not a number of messages"):
        message_count(text)


def test_security_options_are_passed_on() -> None:
    """A mechanism that the version lacks is refused before anything starts."""
    args = parse("--security", "kerberos", "--zookeeper-security", "digest")
    assert (args.security, args.zookeeper_security) == ("kerberos", "digest")
    with pytest.raises(SandboxError, match=r"Kafka 0\.9\.0\.1 can't do security=scram"):
        run(parse("--kafka", "0.9.0.1", "--security", "scram"))
    with pytest.raises(SystemExit):
        parse("--security", "password")
