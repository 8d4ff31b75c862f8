"""Metrics and labels in the Prometheus queries of a Grafana dashboard; simple expressions only."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

OF_THE_SCRAPE = frozenset({"instance", "job"})
"""Labels that Prometheus adds by itself."""

_TEXT = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'")
_SELECTOR = re.compile(r"\b([a-z_][a-z0-9_]*)\b\s*(?:\{([^}]*)\})?(?!\s*\()", re.IGNORECASE)
_MATCHER = re.compile(r"([a-z_]\w*)\s*(?:=~|!~|!=|=)", re.IGNORECASE)
_CLAUSE = re.compile(r"\b(?:by|without|on|ignoring)\s*\(([^)]*)\)")
_WORDS = frozenset({"by", "or", "and", "unless", "without", "on", "offset", "bool"})


class QueriedMetrics(NamedTuple):
    """The metrics and labels of one expression.

    Attributes:
        metrics: the metrics, each with the labels of its matchers.
        grouped: the labels that it groups by.
    """

    metrics: dict[str, frozenset[str]]
    grouped: frozenset[str]


def parse_expression(expression: str) -> QueriedMetrics:
    """Parse an expression."""
    named = dict.fromkeys(re.findall(r"__name__=~\"([^\"]*)\"", expression))
    metrics = {item: frozenset[str]() for names in named for item in names.split("|")}
    bare = re.sub(r"\{__name__=~\"[^\"]*\"\}|\[[^\]]*\]", "", expression)
    bare = _TEXT.sub('""', bare)
    bare = bare.replace("label_values", "label_values ")
    grouped = frozenset(
        label.strip()
        for clause in _CLAUSE.findall(bare)
        for label in clause.split(",")
        if label.strip()
    )
    values = re.fullmatch(r"label_values \((.*),\s*(\w+)\)", bare)
    if values:
        grouped |= {values[2]}
        bare = values[1]
    for name, inside in _SELECTOR.findall(_CLAUSE.sub("", bare)):
        if name not in _WORDS and "_" in name:
            metrics[name] = metrics.get(name, frozenset()) | set(_MATCHER.findall(inside))
    return QueriedMetrics(metrics, grouped)


def expressions(dashboard: Path) -> Iterator[tuple[str, str]]:
    """Yield each expression of a dashboard with its legend, which is empty for variables."""
    parsed: dict[str, Any] = json.loads(dashboard.read_text())
    for panel in parsed["panels"]:
        for target in panel.get("targets", ()):
            yield target["expr"], target.get("legendFormat", "")
    for variable in parsed["templating"]["list"]:
        if variable["type"] == "query":
            query = variable["query"]
            yield query if isinstance(query, str) else query["query"], ""


def legend_labels(legend: str) -> frozenset[str]:
    """Return the labels that a legend shows."""
    return frozenset(re.findall(r"\{\{\s*(\w+)\s*\}\}", legend))
