"""Metrics as values: what Prometheus calls a family, without the library for it. Pure."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Generic, Literal, NamedTuple, TypeAlias, TypeVar

Kind: TypeAlias = Literal["gauge", "counter", "summary", "histogram"]

V = TypeVar("V")


class Sample(NamedTuple):
    """One number.

    Attributes:
        labels: the values of the family's labels, in its order.
        value: in the unit that the family's name ends in.
        suffix: what stands behind the name: ``_sum``, ``_count``, ``_bucket`` of a summary or
            histogram. A bucket has one more label, ``le``, which comes last.
    """

    labels: tuple[str, ...]
    value: float
    suffix: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """All samples of one name.

    Attributes:
        name: as Prometheus stores it; counters end in ``_total``.
        text: what it measures, in one sentence.
        labels: the names of its labels.
        samples: can be iterated once; no two have the same labels.
        kind: what Prometheus is to take it for; a counter only grows.
    """

    name: str
    text: str
    labels: tuple[str, ...]
    samples: Iterable[Sample]
    kind: Kind = "gauge"


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure(Generic[V]):
    """How a family is found in what is looked at; see ``Family`` for the rest.

    Attributes:
        find: gives the samples.
        per_partition: whether there is a sample for each partition of something, so that a large
            cluster has very many.
    """

    name: str
    text: str
    labels: tuple[str, ...]
    find: Callable[[V], Iterator[Sample]]
    kind: Kind = "gauge"
    per_partition: bool = False

    def of(self, covered: V) -> Family:
        """Return the family; nothing is found before its samples are iterated."""
        return Family(
            name=self.name,
            text=self.text,
            labels=self.labels,
            samples=self.find(covered),
            kind=self.kind,
        )
