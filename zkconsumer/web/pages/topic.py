"""A topic's page. Pure."""

from typing import Final

from zkconsumer.status.model import PartitionStatus
from zkconsumer.web.pages.group_rows import group_rows
from zkconsumer.web.pages.plain import sorry_page
from zkconsumer.web.pages.table import SortableColumn, table_of
from zkconsumer.web.pages.topics import held_by, topic_row
from zkconsumer.web.pages.view import PageRequest, View
from zkconsumer.web.state import ClusterState

_COLUMNS: Final[tuple[SortableColumn[PartitionStatus], ...]] = (
    SortableColumn("partition", "Partition", lambda partition: partition.topic_partition.partition),
    SortableColumn("leader", "Leader", lambda partition: partition.leader),
    SortableColumn(
        "replicas",
        "Replicas",
        lambda partition: len(partition.replicas),
        about="The preferred leader first; replicas that are not in sync are struck out",
    ),
    SortableColumn("start", "First offset", lambda partition: partition.log_start, numeric=True),
    SortableColumn("end", "End", lambda partition: partition.log_end, numeric=True),
    SortableColumn("held", "Offsets held", held_by, numeric=True),
)


def topic_page(
    state: ClusterState, page_request: PageRequest, name: str, *, shows_messages: bool = False
) -> View:
    """Return the page of a topic: its partitions, settings, readers, and a link to its messages."""
    topic = state.judgements.topics.get(name)
    if topic is None:
        return sorry_page(404, f"There is no topic {name} in this cluster.")
    partitions = topic.partitions
    if page_request.query.get("only") == "sick":
        partitions = tuple(
            partition
            for partition in partitions
            if partition.leaderless or partition.under_replicated
        )
    return View(
        template="topic.html",
        title=name,
        context={
            "row": topic_row(state, topic),
            "topic": topic,
            "shows_messages": shows_messages,
            "table": table_of(
                partitions, _COLUMNS, page_request, total=len(topic.partitions), page_rows=100
            ),
            "held_by": held_by,
            "readers": group_rows(state, state.judgements.readers.get(name, ())),
        },
    )
