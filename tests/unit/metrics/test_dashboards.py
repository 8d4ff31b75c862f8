"""Dashboards query only metrics that exist: our own, and the well-known one for kafka_exporter."""

import json
from pathlib import Path

import pytest

from tests.support.promql import OF_THE_SCRAPE, expressions, legend_labels, parse_expression
from zkconsumer.metrics.cluster import ALWAYS_MEASURES, CLUSTER_MEASURES
from zkconsumer.metrics.consumer_names import CONSUMER_MEASURES

ROOT = Path(__file__).parents[3]
OURS = ROOT / "docs/grafana/zkconsumer.json"
WELL_KNOWN = ROOT / "tests/golden/metrics/dashboard-7589.txt"


def _exported() -> dict[str, frozenset[str]]:
    """Return the labels of each metric name that Prometheus stores."""
    found: dict[str, frozenset[str]] = {}
    for name, kind, labels in (
        *((measure.name, measure.kind, measure.labels) for measure in ALWAYS_MEASURES),
        *((measure.name, measure.kind, measure.labels) for measure in CLUSTER_MEASURES),
        *((measure.name, measure.kind, measure.labels) for measure in CONSUMER_MEASURES),
    ):
        if kind == "histogram":
            found[f"{name}_bucket"] = frozenset({*labels, "le"})
            found |= {f"{name}{end}": frozenset(labels) for end in ("_sum", "_count")}
        else:
            found[name] = frozenset(labels)
    return found


EXPORTED = _exported()


def complaints(expression: str, legend: str = "") -> list[str]:
    """Return the metrics and labels that a query or legend uses and that don't exist."""
    requested = parse_expression(expression)
    if not requested.metrics:
        return [f"no metric found in {expression}"]
    problems = [f"{name} is not exported" for name in requested.metrics if name not in EXPORTED]
    known = [EXPORTED.get(name, frozenset()) | OF_THE_SCRAPE for name in requested.metrics]
    for (name, labels), have in zip(requested.metrics.items(), known, strict=True):
        problems += [f"{name} has no label {label}" for label in labels - have]
    every = frozenset[str]().union(*known)
    problems += [f"nothing here has the label {label}" for label in requested.grouped - every]
    shown = legend_labels(legend)
    problems += [f"the legend's {label} is lost" for label in shown - requested.grouped]
    return problems


@pytest.mark.parametrize(("expression", "legend"), list(expressions(OURS)))
def test_our_dashboard_uses_only_exported_metrics(expression: str, legend: str) -> None:
    """This includes every label that a query matches, groups by or shows."""
    assert complaints(expression, legend) == []


@pytest.mark.parametrize(
    "expression", [line for line in WELL_KNOWN.read_text().splitlines() if not line.startswith("#")]
)
def test_the_well_known_dashboard_uses_only_exported_metrics(expression: str) -> None:
    """It is the dashboard for kafka_exporter, with what ``zkconsumer serve`` exports."""
    assert complaints(expression) == []


@pytest.mark.parametrize(
    ("expression", "legend", "complaint"),
    [
        ("sum(kafka_consumergroup_lags)", "", "kafka_consumergroup_lags is not exported"),
        ('kafka_brokers{topic="x"}', "", "kafka_brokers has no label topic"),
        ("sum by (topic) (kafka_brokers)", "", "nothing here has the label topic"),
        ("sum by (topic) (kafka_topic_partitions)", "{{group}}", "the legend's group is lost"),
        ("vector(1)", "", "no metric found in vector(1)"),
    ],
)
def test_missing_metrics_and_labels_are_noticed(
    expression: str, legend: str, complaint: str
) -> None:
    """Otherwise the tests above would prove nothing."""
    assert complaint in complaints(expression, legend)


def test_the_dashboard_is_valid_for_grafana() -> None:
    """Ids are unique, panels don't overlap, and all lie within the 24 columns."""
    dashboard = json.loads(OURS.read_text())
    ids = [panel["id"] for panel in dashboard["panels"]]
    assert len(set(ids)) == len(ids)
    taken: set[tuple[int, int]] = set()
    for panel in dashboard["panels"]:
        position = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(position["x"], position["x"] + position["w"])
            for y in range(position["y"], position["y"] + position["h"])
        }
        assert not cells & taken, panel["title"]
        assert max(x for x, _ in cells) < 24
        taken |= cells
        assert panel["type"] == "row" or panel["description"].endswith("."), panel["title"]


def test_every_metric_of_a_consumer_is_on_the_dashboard() -> None:
    """Exceptions are metrics that others show better."""
    shown = {
        name for expression, _ in expressions(OURS) for name in parse_expression(expression).metrics
    }
    elsewhere = {
        "zkconsumer_commit_calls_total",
        "zkconsumer_fetches_total",
        "zkconsumer_lag",
        "zkconsumer_orphan_partitions",
        "zkconsumer_rebalances_total",
    }
    names = {measure.name for measure in CONSUMER_MEASURES if measure.kind != "histogram"}
    assert names - shown == elsewhere
