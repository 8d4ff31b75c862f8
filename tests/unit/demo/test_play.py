"""The play continues when servers pause, and with topics that already exist."""

import logging
from types import SimpleNamespace
from typing import Any, Self, cast

import pytest

from zkconsumer.demo import play as played
from zkconsumer.demo.play import TOPICS, Play
from zkconsumer.errors import KafkaTimeoutError
from zkconsumer.sandbox import Sandbox


class DemoSandbox:
    """A sandbox in which one of the play's topics exists."""

    bootstrap_servers = "b:9092"

    def __init__(self) -> None:
        self.topics = {"orders"}

    def has_topic(self, name: str) -> bool:
        """Return whether the topic exists."""
        return name in self.topics

    def create_topic(self, name: str, _partitions: int) -> None:
        """Create a topic that must not exist yet."""
        assert name not in self.topics
        self.topics.add(name)


def test_the_writer_continues_after_time_outs_and_logs_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The writer uses a new producer after each failure, and ends only with the play."""
    play = Play(cast("Sandbox", DemoSandbox()))
    stop = SimpleNamespace(is_over=False)
    stop.is_set = lambda: stop.is_over
    stop.wait = lambda _s: stop.is_over
    monkeypatch.setattr(play, "_stop", stop)
    written: list[str] = []
    failing = iter([True, True, False])

    class Producer:
        def __init__(self, **_settings: Any) -> None:
            self.fails = next(failing)

        def __enter__(self) -> Self:
            return self

        def __exit__(self, *_: object) -> None:
            """Close nothing."""

        def send(self, topic: str, _value: str) -> None:
            """Fail, or end the play at the tenth message."""
            if self.fails:
                raise KafkaTimeoutError("no answer within 5 s")
            written.append(topic)
            stop.is_over = len(written) >= 9

    monkeypatch.setattr(played, "KafkaProducer", Producer)
    with caplog.at_level(logging.WARNING):
        play._write()
    assert set(written) == set(TOPICS)
    assert [record.getMessage() for record in caplog.records] == [
        "the play's writer tries again until it can write: no answer within 5 s"
    ]


def test_existing_topics_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """Topics of a sandbox folder that was kept are not created again."""
    cluster = DemoSandbox()
    monkeypatch.setattr(Play, "_begin", lambda *_: None)
    with Play(cast("Sandbox", cluster)):
        assert cluster.topics == set(TOPICS)
