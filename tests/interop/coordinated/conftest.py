"""Fixtures of the tests with coordinator groups."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from tests.interop.coordinated.group import CoordinatorGroup
from tests.support.clusters import BrokerOf

GroupOn = Callable[..., CoordinatorGroup]
"""Creates a fresh group on a Kafka version: ``group_on("2.8.2", strategy="range")``."""


@pytest.fixture
def group_on(broker_of: BrokerOf, tmp_path: Path) -> Iterator[GroupOn]:
    """Give a function that creates groups on a version; check their histories at the end."""
    made: list[CoordinatorGroup] = []
    with ExitStack() as groups:

        def on(version: str, strategy: str | None = "range") -> CoordinatorGroup:
            group = CoordinatorGroup(broker_of(version), tmp_path, strategy)
            made.append(groups.enter_context(closing(group)))
            return group

        yield on
    for group in made:
        outcome = group.check_history()
        assert outcome.good, outcome.complaints()
