"""Metric families as Prometheus defines them, without its library. Pure."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import KW_ONLY, dataclass
from typing import Generic, Literal, NamedTuple, TypeAlias, TypeVar

Kind: TypeAlias = Literal["gauge", "counter", "summary", "histogram"]

V = TypeVar("V")


class Sample(NamedTuple):
    """One sample.

    Attributes:
        labels: the values of the family's labels, in order.
        value: the value, in the unit with which the family's name ends.
        suffix: the suffix of the name: ``_sum``, ``_count`` or ``_bucket`` of a summary or
            histogram. A bucket has one more label, ``le``, which comes last.
    """

    labels: tuple[str, ...]
    value: float
    suffix: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """All samples with one name.

    Attributes:
        name: the name under which Prometheus stores it; counters end in ``_total``.
        text: what it measures, in one sentence.
        labels: the names of its labels.
        samples: the samples; no two have the same labels and suffix.
        kind: the metric type; a counter never decreases.
    """

    name: str
    text: str
    labels: tuple[str, ...]
    samples: Iterable[Sample]
    kind: Kind = "gauge"


@dataclass(frozen=True, slots=True)
class Measure(Generic[V]):
    """Computes a family from a source; see ``Family`` for the rest.

    Attributes:
        find: yields the samples.
        per_partition: whether there is a sample for each partition of each group: very many in a
            large cluster.
    """

    name: str
    text: str
    labels: tuple[str, ...]
    find: Callable[[V], Iterator[Sample]]
    _: KW_ONLY
    kind: Kind = "gauge"
    per_partition: bool = False

    def of(self, covered: V) -> Family:
        """Return the family; samples are computed when they are iterated."""
        return Family(
            name=self.name,
            text=self.text,
            labels=self.labels,
            samples=self.find(covered),
            kind=self.kind,
        )
