"""Draws the bar chart of the README, as SVG without a library."""

from collections.abc import Sequence
from html import escape

from tests.benchmarks.figures import Row, rows
from tests.benchmarks.results import Results

_WIDTH, _LABELS, _FIGURES = 800, 265, 85
_BAR, _GAP, _HEAD = 18, 8, 34
_STYLE = """
  text { font: 13px system-ui, sans-serif; fill: #1f2328; }
  .head { font-weight: 600; }
  .ours { fill: #1f6feb; } .other { fill: #8c959f; } .raw { fill: #d0d7de; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; } .other { fill: #6e7681; } .raw { fill: #3d444d; }
  }"""


def draw(results: Results, topics: Sequence[tuple[str, str]]) -> str:
    """Return an SVG of each contestant's median records per second, with a group of bars per topic.

    Args:
        results: the results of a session.
        topics: the topics' names and titles; topics without runs are left out.
    """
    found = rows(results.runs)
    at = 4
    body: list[str] = []
    for topic, title in topics:
        if topic not in found:
            continue
        at += _HEAD
        body.append(f'  <text class="head" x="0" y="{at - 12}">{escape(title)}</text>')
        ordered = sorted(found[topic].values(), key=lambda row: row.rate, reverse=True)
        room = _WIDTH - _LABELS - _FIGURES
        for row in ordered:
            label = results.labels.get(row.contestant, row.contestant)
            body += _bar(row, label, at, room * row.rate / ordered[0].rate)
            at += _BAR + _GAP
    title = "Records per second of several clients"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {at}" width="{_WIDTH}" '
        f'height="{at}" role="img">\n  <title>{title}</title>\n  <style>{_STYLE}\n  </style>\n'
        + "\n".join(body)
        + "\n</svg>\n"
    )


def _bar(row: Row, label: str, at: int, length: float) -> list[str]:
    kind = "other"
    if label.startswith("zkconsumer"):
        kind = "ours"
    elif label.startswith("raw"):
        kind = "raw"
    middle = at + _BAR - 5
    return [
        f'  <text x="{_LABELS - 8}" y="{middle}" text-anchor="end">{escape(label)}</text>',
        f'  <rect class="{kind}" x="{_LABELS}" y="{at}" width="{max(1, length):.0f}" '
        f'height="{_BAR}" rx="2"/>',
        f'  <text x="{_LABELS + max(1, length) + 8:.0f}" y="{middle}">{_spoken(row.rate)}</text>',
    ]


def _spoken(rate: float) -> str:
    if rate >= 1e6:
        return f"{rate / 1e6:.1f} M/s"
    return f"{rate / 1e6:.2f} M/s" if rate >= 1e5 else f"{rate / 1e3:.0f} k/s"
