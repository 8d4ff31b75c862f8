"""The requests of ``mirror verify`` to the clusters that it compares."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.support.mirroring import SOURCE
from zkconsumer.mirror import verify as module
from zkconsumer.mirror.landed import ReadFrom, to_line


class _OpenedError(Exception):
    """The source was opened."""


def test_a_verification_creates_no_topics(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even if the settings of the mirror's consumer, which it shares, permit that."""
    opened: list[Mapping[str, object]] = []

    def consumer(*, config: Mapping[str, object]) -> object:
        opened.append(config)
        raise _OpenedError

    monkeypatch.setattr(module, "KafkaConsumer", consumer)
    file = tmp_path / "offsets.jsonl"
    file.write_bytes(to_line(ReadFrom(SOURCE, 0)))
    given = {"bootstrap.servers": "h:1", "allow.auto.create.topics": "true"}
    with pytest.raises(_OpenedError):
        module.verify(file, given, given)
    assert opened == [{**given, "allow.auto.create.topics": "false"}]
