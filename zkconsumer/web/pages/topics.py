"""The list of topics. Pure."""

from dataclasses import dataclass
from typing import Final

from zkconsumer.status.model import PartitionStatus, TopicStatus
from zkconsumer.web.pages.table import SortableColumn, matching, table_of
from zkconsumer.web.pages.view import PageRequest, View
from zkconsumer.web.state import ClusterState


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicRow:
    """A topic's summary.

    Attributes:
        topic: the topic.
        replicas: the number of replicas of the partition with the most.
        leaderless: the number of leaderless partitions.
        under_replicated: the number of under-replicated partitions.
        elsewhere: the number of partitions not led by their preferred leader.
        records: the number of offsets that its logs hold; None if unknown for all.
        readers: the number of groups that read it or have offsets of it.
    """

    topic: TopicStatus
    replicas: int
    leaderless: int
    under_replicated: int
    elsewhere: int
    records: int | None
    readers: int

    @property
    def sick(self) -> int:
        """The sum of its leaderless and under-replicated partitions; one may count as both."""
        return self.leaderless + self.under_replicated


_COLUMNS: Final[tuple[SortableColumn[TopicRow], ...]] = (
    SortableColumn("name", "Topic", lambda row: row.topic.name),
    SortableColumn(
        "state",
        "State",
        lambda row: 3 if row.topic.problem else 2 * bool(row.leaderless) or bool(row.sick),
        worst_last=True,
    ),
    SortableColumn("partitions", "Partitions", lambda row: len(row.topic.partitions), numeric=True),
    SortableColumn("replicas", "Replicas", lambda row: row.replicas, numeric=True),
    SortableColumn(
        "leaderless",
        "No leader",
        lambda row: row.leaderless,
        numeric=True,
        about="Partitions that can't be read or written",
    ),
    SortableColumn(
        "under",
        "Under-replicated",
        lambda row: row.under_replicated,
        numeric=True,
        about="Partitions with a replica that is not in sync",
    ),
    SortableColumn(
        "records",
        "Offsets held",
        lambda row: row.records,
        numeric=True,
        about="From the first offset that the logs still have to their end",
    ),
    SortableColumn("readers", "Groups", lambda row: row.readers, numeric=True),
)


def topic_row(state: ClusterState, topic: TopicStatus) -> TopicRow:
    """Return the summary of a topic."""
    partitions = topic.partitions
    held = [count for count in map(held_by, partitions) if count is not None]
    return TopicRow(
        topic=topic,
        replicas=max((len(partition.replicas) for partition in partitions), default=0),
        leaderless=sum(partition.leaderless for partition in partitions),
        under_replicated=sum(partition.under_replicated for partition in partitions),
        elsewhere=sum(
            not partition.preferred and not partition.leaderless for partition in partitions
        ),
        records=sum(held) if held else None,
        readers=len(state.judgements.readers.get(topic.name, ())),
    )


def held_by(partition: PartitionStatus) -> int | None:
    """Return log end minus log start, or None; a compacted log holds fewer records."""
    if partition.log_start is None or partition.log_end is None:
        return None
    return max(0, partition.log_end - partition.log_start)


def topics_page(state: ClusterState, page_request: PageRequest) -> View:
    """Return the list of topics, narrowed by ``q`` (words of the name) and ``only=sick``."""
    topics = state.snapshot.topics
    found = matching(topics, lambda topic: topic.name, page_request.query.get("q", ""))
    rows = [topic_row(state, topic) for topic in found]
    if page_request.query.get("only") == "sick":
        rows = [row for row in rows if row.sick or row.topic.problem is not None]
    return View(
        template="topics.html",
        title="Topics",
        context={"table": table_of(rows, _COLUMNS, page_request, total=len(topics))},
    )
