"""Lists all contestants, in the order of the tables."""

from collections.abc import Mapping

from tests.benchmarks.contestants.programs import Program
from tests.benchmarks.environments import OTHERS

RAW = "raw"
CONFLUENT, CONFLUENT_POLL = "confluent-kafka", "confluent-poll"
KAFKA_PYTHON, KAFKA_PYTHON_ITERATE = "kafka-python", "kafka-python-iterate"
POLL, POLL_500, ITERATE, ARROW = "poll", "poll-500", "iterate", "arrow"
PURE, PURE_ITERATE = "pure", "pure-iterate"
_IN_PYTHON = {"ZKCONSUMER_PURE": "1"}


def everybody() -> tuple[Program, ...]:
    """Return all contestants."""
    return (
        Program(name=RAW, label="raw fetch, nothing decoded", module="raw_batches"),
        _confluent(CONFLUENT, "confluent-kafka, consume(10000)", "consume"),
        _confluent(CONFLUENT_POLL, "confluent-kafka, poll()", "poll"),
        _kafka_python(KAFKA_PYTHON, "kafka-python, poll()", "poll"),
        _kafka_python(KAFKA_PYTHON_ITERATE, "kafka-python, iterated", "iterate"),
        _ours(POLL, "zkconsumer, poll()", POLL),
        _ours(POLL_500, "zkconsumer, poll(), 500 at a time", POLL_500),
        _ours(ITERATE, "zkconsumer, iterated", ITERATE),
        _ours(ARROW, "zkconsumer, poll_arrow()", ARROW),
        _ours(PURE, "zkconsumer, poll(), pure Python", POLL, environ=_IN_PYTHON, share=0.4),
        _ours(
            PURE_ITERATE,
            "zkconsumer, iterated, pure Python",
            ITERATE,
            environ=_IN_PYTHON,
            share=0.4,
        ),
    )


def _confluent(name: str, label: str, mode: str) -> Program:
    return Program(name=name, label=label, module="poll_confluent", mode=mode, environment=OTHERS)


def _kafka_python(name: str, label: str, mode: str) -> Program:
    return Program(
        name=name,
        label=label,
        module="poll_kafka_python",
        mode=mode,
        environment=OTHERS,
        share=0.2,
    )


def _ours(
    name: str,
    label: str,
    mode: str,
    *,
    environ: Mapping[str, str] | None = None,
    share: float = 1.0,
) -> Program:
    return Program(
        name=name, label=label, module="poll_ours", mode=mode, environ=environ or {}, share=share
    )
