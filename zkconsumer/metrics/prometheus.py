"""Converts families to those of ``prometheus_client``; its only importer.

For a page of metrics ``text`` is enough. The library comes with the extra ``metrics``; without it,
calls raise an error that names the extra.
"""

from collections.abc import Callable, Iterable, Iterator
from types import ModuleType
from typing import TYPE_CHECKING

from zkconsumer.errors import ConfigError
from zkconsumer.metrics.families import Family

if TYPE_CHECKING:
    from prometheus_client.core import Metric

MISSING = "metrics need prometheus-client: pip install 'zkconsumer[metrics]'"


def require_prometheus() -> ModuleType:
    """Import the library.

    Raises:
        ConfigError: it is not installed; the message says what to install.
    """
    try:
        import prometheus_client  # noqa: PLC0415 - an optional extra, imported on use
    except ImportError as missing:
        raise ConfigError(MISSING) from missing
    return prometheus_client


class FamilyCollector:
    """A collector of ``prometheus_client`` that computes the families on each scrape.

    Args:
        families: computes the families; called on any thread that collects.
    """

    def __init__(self, families: Callable[[], Iterable[Family]]) -> None:
        require_prometheus()
        self._families = families

    def collect(self) -> "Iterator[Metric]":
        """Return all families as the library's metrics. Thread: any."""
        return map(_metric, self._families())

    def describe(self) -> "Iterable[Metric]":
        """Return nothing: registering must not collect."""
        return ()


def _metric(family: Family) -> "Metric":
    from prometheus_client.core import Metric  # noqa: PLC0415 - as above

    name = family.name
    if family.kind == "counter":
        name = name.removesuffix("_total")  # the library appends it itself
    metric = Metric(name, family.text, family.kind)
    of_bucket = (*family.labels, "le")
    for sample in family.samples:
        names = of_bucket if sample.suffix == "_bucket" else family.labels
        labels = dict(zip(names, map(_printable, sample.labels), strict=True))
        metric.add_sample(family.name + sample.suffix, labels, sample.value)
    return metric


def _printable(label: str) -> str:
    """Return a label's value that can be encoded; see ``text``."""
    return label if label.isascii() else label.encode(errors="backslashreplace").decode()
