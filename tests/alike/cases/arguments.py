"""The names and the order of every public method's arguments."""

import inspect
from typing import Any

from tests.alike.casebook import case
from tests.alike.scene import Scene

METHODS = (
    "assign", "assignment", "beginning_offsets", "bootstrap_connected", "close", "commit",
    "commit_async", "committed", "end_offsets", "group_metadata", "highwater", "metrics",
    "offsets_for_times", "partitions_for_topic", "pause", "paused", "poll", "position", "resume",
    "seek", "seek_to_beginning", "seek_to_end", "subscribe", "subscription", "topics",
    "unsubscribe",
)  # fmt: skip
_MANY = inspect.Parameter.VAR_POSITIONAL


def _theirs(method: str) -> list[inspect.Parameter]:
    """The parameters of kafka-python's method, without ``self``."""
    from kafka import KafkaConsumer  # noqa: PLC0415 - gives the expected parameters

    return list(inspect.signature(getattr(KafkaConsumer, method)).parameters.values())[1:]


def _of(method: str) -> None:
    @case(f"of {method}")
    def _(s: Scene) -> object:
        wanted = _theirs(method)
        signature = inspect.signature(getattr(s.lib.KafkaConsumer, method))
        named: dict[str, Any] = {
            parameter.name: parameter.name for parameter in wanted if parameter.kind is not _MANY
        }
        return [
            s.attempt(lambda: sorted(signature.bind("self", **named).arguments.keys() & named)),
            s.attempt(lambda: list(signature.bind("self", *named).arguments)[1:]),
            s.attempt(
                lambda: [
                    name
                    for name in named
                    if signature.parameters[name].default is inspect.Parameter.empty
                ]
            ),
        ]


for _method in METHODS:
    _of(_method)
