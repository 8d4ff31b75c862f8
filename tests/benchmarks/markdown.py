"""Writes the parts that the reports of all benchmarks share, as Markdown."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from tests.benchmarks.figures import Row, Run, ratio, rows


def glance(
    title: str,
    runs: Sequence[Run],
    labels: Mapping[str, str],
    cell: Callable[[str, Row | None], str],
) -> str:
    """Return one table with a row per contestant and a column per topic.

    Args:
        title: the title, which explains the cells.
        runs: all runs of a session.
        labels: the contestants' labels by name.
        cell: returns the text of a cell, given the topic and a contestant's row, or None.
    """
    by_topic = rows(runs)
    names = dict.fromkeys(name for found in by_topic.values() for name in found)
    lines = [
        f"### {title}",
        "",
        "| what | " + " | ".join(by_topic) + " |",
        "|---|" + "---:|" * len(by_topic),
    ]
    for name in names:
        cells = [cell(topic, found.get(name)) for topic, found in by_topic.items()]
        lines.append(f"| {labels.get(name, name)} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def table_of_topic(
    topic: str,
    head: str,
    lines: Iterator[str],
    skipped: Mapping[tuple[str, str], str],
    labels: Mapping[str, str],
) -> list[str]:
    """Return the table of one topic: a line per contestant, or why it is missing."""
    return [
        f"### {topic}",
        "",
        head,
        "|---|" + "---:|" * (head.count("|") - 2),
        *lines,
        *(
            f"| {labels.get(name, name)} | {reason} |"
            for (where, name), reason in skipped.items()
            if where == topic
        ),
    ]


def ratios_to(
    baselines: Mapping[str, str], runs: Sequence[Run], topic: str, contestant: str
) -> list[str]:
    """Return the cells of the columns that compare a contestant with the baselines."""
    found = (
        None if baseline == contestant else ratio(runs, topic, contestant, baseline)
        for baseline in baselines
    )
    return ["" if compared is None else f"{compared.median:.2f}" for compared in found]


def row_of(cells: Iterable[str]) -> str:
    """Return a row of a table."""
    return "| " + " | ".join(cells) + " |"
