"""docs/metrics.md tells of every metric, and its alerts ask for what there is."""

import re
from pathlib import Path

import pytest

from tests.unit.metrics.test_dashboards import complaints
from zkconsumer.metrics.cluster import ALWAYS_MEASURES, CLUSTER_MEASURES
from zkconsumer.metrics.consumer_names import CONSUMER_MEASURES

TEXT = (Path(__file__).parents[2] / "docs/metrics.md").read_text()
ROWS = [
    (measure.name, measure.labels, measure.text)
    for measures in (ALWAYS_MEASURES, CLUSTER_MEASURES, CONSUMER_MEASURES)
    for measure in measures
]


@pytest.mark.parametrize(("name", "labels", "text"), ROWS, ids=[name for name, _, _ in ROWS])
def test_every_metric_has_its_row(name: str, labels: tuple[str, ...], text: str) -> None:
    """With its labels and its sentence, as Prometheus gets it."""
    written = ", ".join(f"`{label}`" for label in labels) or "-"
    assert f"| `{name}` | {written} | {text} |\n" in TEXT


def test_no_row_tells_of_a_metric_that_is_gone() -> None:
    """Each row is one of those."""
    rows = re.findall(r"^\| `(\w+)` \|", TEXT, re.MULTILINE)
    assert sorted(rows) == sorted(name for name, _, _ in ROWS)


@pytest.mark.parametrize("expression", re.findall(r"^ +expr: (.*)$", TEXT, re.MULTILINE))
def test_the_alerts_ask_for_what_there_is(expression: str) -> None:
    """Copied as they are, they work."""
    assert complaints(expression) == []
