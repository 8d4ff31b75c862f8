"""Each row about ``KafkaConsumer`` names a test that runs on just the versions that it says."""

from importlib import import_module
from typing import Any

import pytest

from tests.interop.version_matrix import POLL_FEATURES, Cell
from zkconsumer.sandbox import VERSIONS


@pytest.mark.parametrize("feature", list(POLL_FEATURES))
def test_every_row_is_what_its_test_runs_on(feature: str) -> None:
    """A version added to the sandbox is missing here until somebody says what it does."""
    row = POLL_FEATURES[feature]
    assert list(row.cells) == list(VERSIONS)
    test: Any = getattr(import_module(row.module), row.test)
    (versions,) = (
        list(dict.fromkeys(getattr(cell, "values", (cell,))[0] for cell in mark.args[1]))
        for mark in test.pytestmark
        if mark.name == "parametrize" and "version" in mark.args[0]
    )
    assert versions == [name for name, cell in row.cells.items() if cell is Cell.YES]
