"""Nothing but imports is changed in kafka-python's tests, and no import by accident."""

import pytest

from tests.kafka_python.imports import rewrite
from tests.kafka_python.left_out import LEFT_OUT, left_out
from tests.kafka_python.sources import SOURCES

PROGRAM = """\
import logging
from mock import patch
from kafka.vendor.six.moves import range

import kafka.codec
from kafka import KafkaConsumer, TopicPartition
from kafka.consumer.group import KafkaConsumer
from kafka.errors import (
    KafkaTimeoutError,
)
from kafka.structs import TopicPartition
from test.testutil import Timer

def test(kafka_consumer):
    with patch.object(kafka.codec, "has_gzip"):
        "from kafka import nothing"
"""
CHANGED = """\
import logging
from unittest.mock import patch
from kafka.vendor.six.moves import range

import kafka.codec
from zkconsumer import KafkaConsumer, TopicPartition
from zkconsumer import KafkaConsumer
from zkconsumer.errors import (
    KafkaTimeoutError,
)
from zkconsumer.structs import TopicPartition
from test.testutil import Timer

def test(kafka_consumer):
    with patch.object(kafka.codec, "has_gzip"):
        "from kafka import nothing"
"""


def test_imports_are_changed_and_nothing_else() -> None:
    """A name in a text, or in the code, stays."""
    assert rewrite(PROGRAM) == CHANGED


def test_what_no_list_has_is_refused() -> None:
    """It would be imported from kafka-python, and prove nothing."""
    with pytest.raises(ValueError, match=r"in place of kafka\.consumer\.fetcher"):
        rewrite("from kafka.consumer.fetcher import ConsumerRecord\n")


def test_what_is_left_out_is_a_test_of_a_file_that_is_run() -> None:
    """And bears a reason."""
    files = {source.version: source.tests for source in SOURCES}
    for case in LEFT_OUT:
        assert case.test.partition("::")[0] in files[case.version]
        assert case.reason


def test_some_are_left_out_on_some_brokers_only() -> None:
    """2.0.2 knows no leader epochs, which brokers before 2.1 don't tell."""
    assert len(left_out("2.0.2", "2.8.2")) == len(left_out("2.0.2", "0.10.2.2")) + 1
