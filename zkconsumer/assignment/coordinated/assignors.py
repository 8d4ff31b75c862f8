"""The function of each strategy, which returns the partitions of each member of a group."""

from collections.abc import Callable, Mapping

from zkconsumer.assignment.coordinated import cooperative, round_robin, sticky
from zkconsumer.assignment.coordinated import range as range_assignor
from zkconsumer.assignment.coordinated.strategy import Shares
from zkconsumer.assignment.coordinated.view import CoordinatedView

ASSIGNORS: Mapping[str, Callable[[CoordinatedView], Shares]] = {
    "range": range_assignor.assign,
    "roundrobin": round_robin.assign,
    "sticky": sticky.assign,
    "cooperative-sticky": cooperative.assign,
}
