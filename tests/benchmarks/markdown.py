"""What the reports of all benchmarks have in common, as Markdown."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from tests.benchmarks.figures import Row, Run, ratio, rows


def glance(
    title: str,
    runs: Sequence[Run],
    labels: Mapping[str, str],
    cell: Callable[[str, Row | None], str],
) -> str:
    """Everybody and every topic in one table.

    Args:
        title: what the cells say.
        runs: all of them.
        labels: what to call each contestant.
        cell: of a topic and what somebody came to there.
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
    """One topic's table: a line for each who ran, and why the others did not."""
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
    """The cells of the columns that compare with others."""
    found = (
        None if baseline == contestant else ratio(runs, topic, contestant, baseline)
        for baseline in baselines
    )
    return ["" if compared is None else f"{compared.median:.2f}" for compared in found]


def row_of(cells: Iterable[str]) -> str:
    """A row of a table."""
    return "| " + " | ".join(cells) + " |"
