"""Fixtures of the tests with both kinds of members."""

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.interop.mixed_group import MixedGroup
from zkconsumer.sandbox import Sandbox


@pytest.fixture
def group(
    cluster: Sandbox, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> Iterator[MixedGroup]:
    """Give a fresh group on the session's cluster; its history is checked at the end.

    The log of our members is shown if that fails.
    """
    caplog.set_level(logging.INFO, logger="zkconsumer")
    mixed = MixedGroup(cluster, tmp_path)
    try:
        yield mixed
    finally:
        mixed.close()
    outcome = mixed.check_history()
    assert outcome.good, outcome.complaints()
