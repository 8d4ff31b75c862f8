"""The overview of several clusters. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from zkconsumer.web.pages.cluster import ClusterHealth, outcome_of
from zkconsumer.web.pages.formatting import Tone
from zkconsumer.web.pages.view import View
from zkconsumer.web.state import ClusterState

EVERY_MS: Final = 5_000
_WORST_FIRST: Final = (Tone.BAD, Tone.WARN, Tone.NOTE, Tone.CALM, Tone.OK)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterRow:
    """A summary of a cluster.

    Attributes:
        name: its name in the configuration file.
        state: its state.
        outcome: its health.
        lag: the lag of all groups, in records.
    """

    name: str
    state: ClusterState
    outcome: ClusterHealth
    lag: int


def clusters_page(states: Mapping[str, ClusterState], now_ms: int) -> View:
    """Return the overview, the worst cluster first."""
    rows = sorted(
        (_row(name, state, now_ms) for name, state in states.items()),
        key=lambda row: (_WORST_FIRST.index(row.outcome.tone), row.name),
    )
    worst = rows[0]
    well = worst.outcome.tone is Tone.OK
    title = "All is well" if well else f"{worst.name}: {worst.outcome.sentence}"
    return View(
        template="clusters.html",
        title=title,
        context={"rows": rows, "tone": worst.outcome.tone, "now_ms": now_ms, "sentence": title},
        live=False,
        every_ms=EVERY_MS,
    )


def _row(name: str, state: ClusterState, now_ms: int) -> ClusterRow:
    outcome, groups, _, _ = outcome_of(state, now_ms)
    if not state.ready:
        tone = Tone.BAD if state.number else Tone.NOTE
        outcome = ClusterHealth(sentence=state.problem or "It has not been read yet", tone=tone)
    lag = sum(row.lag or 0 for row in groups)
    return ClusterRow(name=name, state=state, outcome=outcome, lag=lag)
