"""One topic. Pure."""

from typing import Final

from zkconsumer.status.model import PartitionStatus
from zkconsumer.web.pages.group_rows import group_row
from zkconsumer.web.pages.plain import sorry_page
from zkconsumer.web.pages.table import Column, table_of
from zkconsumer.web.pages.topics import held_by, topic_row
from zkconsumer.web.pages.view import Asked, View
from zkconsumer.web.state import ClusterState

_COLUMNS: Final[tuple[Column[PartitionStatus], ...]] = (
    Column(
        name="partition",
        label="Partition",
        of=lambda one: one.topic_partition.partition,
    ),
    Column(name="leader", label="Leader", of=lambda one: one.leader),
    Column(
        name="replicas",
        label="Replicas",
        of=lambda one: len(one.replicas),
        about="The preferred leader first; those that are behind or gone are struck out",
    ),
    Column(name="start", label="First offset", of=lambda one: one.log_start, numeric=True),
    Column(name="end", label="End", of=lambda one: one.log_end, numeric=True),
    Column(name="held", label="Offsets held", of=held_by, numeric=True),
)


def topic_page(state: ClusterState, asked: Asked, name: str) -> View:
    """A topic's partitions, settings and readers."""
    topic = state.topic(name)
    if topic is None:
        return sorry_page(404, f"There is no topic {name} in this cluster.")
    partitions = topic.partitions
    if asked.query.get("only") == "sick":
        partitions = tuple(one for one in partitions if one.leaderless or one.under_replicated)
    return View(
        template="topic.html",
        title=name,
        context={
            "row": topic_row(state, topic),
            "topic": topic,
            "table": table_of(
                partitions, _COLUMNS, asked, total=len(topic.partitions), page_rows=100
            ),
            "held_by": held_by,
            "readers": [group_row(state, key) for key in state.readers_of(name)],
        },
    )
