"""What Prometheus reads."""

import builtins
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, generate_latest

from tests.support.metered import read_exposition, samples_of, small_view, value
from zkconsumer.errors import ConfigError
from zkconsumer.metrics.cluster import cluster_families
from zkconsumer.metrics.families import Family, Sample
from zkconsumer.metrics.prometheus import FamilyCollector
from zkconsumer.metrics.text import exposition


def test_all_families_of_a_cluster_are_exported() -> None:
    """They keep their labels and values."""
    wanted = samples_of(cluster_families(small_view()))
    # A family without samples is only a heading, and is left out.
    expected = {name: of_name for name, of_name in wanted.items() if of_name}
    assert read_exposition(exposition(cluster_families(small_view()))) == expected


def test_types_and_suffixes_are_those_of_prometheus() -> None:
    """A counter is declared with its whole name; a gauge may end in _total, too."""
    text = exposition(
        [
            Family(name="a_total", text="A.", labels=(), samples=[Sample((), 1)], kind="counter"),
            Family(name="b_total", text="B.", labels=(), samples=[Sample((), 2)]),
            Family(
                name="c",
                text="C.",
                labels=("l",),
                samples=[
                    Sample(("x", "0.5"), 1, "_bucket"),
                    Sample(("x", "+Inf"), 2, "_bucket"),
                    Sample(("x",), 2, "_count"),
                    Sample(("x",), 3.5, "_sum"),
                ],
                kind="histogram",
            ),
        ]
    ).decode()
    assert text.splitlines() == [
        "# HELP a_total A.",
        "# TYPE a_total counter",
        "a_total 1",
        "# HELP b_total B.",
        "# TYPE b_total gauge",
        "b_total 2",
        "# HELP c C.",
        "# TYPE c histogram",
        'c_bucket{l="x",le="0.5"} 1',
        'c_bucket{l="x",le="+Inf"} 2',
        'c_count{l="x"} 2',
        'c_sum{l="x"} 3.5',
    ]


@given(st.text(st.characters(exclude_categories=()), max_size=8))
@example("\ud800")
@example("\udfff\n")
def test_no_name_of_a_group_breaks_the_exposition(name: str) -> None:
    """Names come from a foreign ZooKeeper, and need not even be valid text."""
    samples = [Sample((name,), 1)]
    text = exposition([Family(name="a", text="A.", labels=("l",), samples=samples)])
    found = read_exposition(text)
    encodable = name.encode(errors="backslashreplace").decode()
    assert value(found, "a", l=encodable) == 1


def families_of(names: Sequence[str]) -> list[Family]:
    """Return a counter and a histogram, with these names of groups."""
    return [
        Family(
            name="a_total",
            text="With \\ and\nmore.",
            labels=("x", "y"),
            samples=[Sample((name, other), 1.5) for name in names for other in names],
            kind="counter",
        ),
        Family(
            name="b",
            text="B.",
            labels=("x",),
            samples=[
                sample
                for name in names
                for sample in (
                    Sample((name, "0.5"), 1, "_bucket"),
                    Sample((name, "+Inf"), 2, "_bucket"),
                    Sample((name,), 1e300, "_sum"),
                    Sample((name,), 2**53, "_count"),
                )
            ],
            kind="histogram",
        ),
    ]


@given(st.lists(st.text(st.characters(exclude_categories=()), max_size=5), max_size=3, unique=True))
def test_the_library_would_write_the_same(names: list[str]) -> None:
    """Ours is only faster."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(FamilyCollector(lambda: families_of(names)))
    assert read_exposition(exposition(families_of(names))) == read_exposition(
        generate_latest(registry)
    )


def test_registering_does_not_collect() -> None:
    """A collection can take a while."""
    requested: list[None] = []

    def families() -> list[Family]:
        requested.append(None)
        return []

    collector = FamilyCollector(families)
    assert (list(collector.describe()), requested) == ([], [])
    assert (list(collector.collect()), requested) == ([], [None])


def test_without_the_library_the_error_names_the_extra(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The error is one line."""
    real = builtins.__import__

    def missing(name: str, *rest: Any, **named: Any) -> Any:
        if name.startswith("prometheus_client"):
            raise ImportError(name)
        return real(name, *rest, **named)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(ConfigError, match=r"pip install 'zkconsumer\[metrics\]'"):
        FamilyCollector(list)
    assert exposition([]) == b""
