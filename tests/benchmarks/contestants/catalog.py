"""Lists all contestants, in the order of the tables."""

from collections.abc import Mapping

from tests.benchmarks.contestants.contestant import MEGABYTE, Contestant
from tests.benchmarks.contestants.programs import Program
from tests.benchmarks.contestants.scala import ScalaTool, WarmScala
from tests.benchmarks.environments import OTHERS, PYKAFKA
from zkconsumer.records.codecs import Codec

PLAIN = frozenset({Codec.NONE})
PURE = {"ZKCONSUMER_PURE": "1"}
RAW, RAW_4MB = "raw", "raw-4mb"
SCALA, WARM_SCALA = "scala", "scala-warm"
CONFLUENT, KAFKA_PYTHON = "confluent-kafka", "kafka-python"
OURS, BATCHES, ARROW, ARROW_4MB = "one-by-one", "batches", "arrow", "arrow-4mb"
OURS_PURE = "pure"


def listeners() -> tuple[Program | WarmScala, ...]:
    """Return the contestants whose delays are compared."""
    named = {
        contestant.name: contestant
        for contestant in everybody()
        if isinstance(contestant, Program | WarmScala)
    }
    return tuple(named[name] for name in (WARM_SCALA, CONFLUENT, KAFKA_PYTHON, OURS, OURS_PURE))


def everybody() -> tuple[Contestant, ...]:
    """Return all contestants."""
    return (
        Program(name=RAW, label="raw fetch, nothing decoded", module="raw", codecs=PLAIN),
        Program(
            name=RAW_4MB,
            label="raw fetch, 4 MB at a time",
            module="raw",
            codecs=PLAIN,
            fetch_bytes=4 * MEGABYTE,
        ),
        ScalaTool(SCALA),
        WarmScala(WARM_SCALA),
        Program(name=CONFLUENT, label="confluent-kafka", module="confluent", environment=OTHERS),
        Program(
            name=KAFKA_PYTHON,
            label="kafka-python",
            module="kafka_python",
            environment=OTHERS,
            share=0.2,
        ),
        Program(
            name="pykafka",
            label="pykafka",
            module="pykafka_simple",
            environment=PYKAFKA,
            codecs=frozenset({Codec.NONE, Codec.SNAPPY, Codec.GZIP}),  # its lz4 library is gone
            share=0.005,
        ),
        _ours(OURS, "zkconsumer, one by one"),
        _ours(BATCHES, "zkconsumer, batches", mode=BATCHES),
        _ours(ARROW, "zkconsumer, Arrow", mode=ARROW, fetch_bytes=MEGABYTE),
        _ours(ARROW_4MB, "zkconsumer, Arrow, 4 MB at a time", mode=ARROW, fetch_bytes=4 * MEGABYTE),
        _ours(OURS_PURE, "zkconsumer, pure Python", environ=PURE, share=0.5),
    )


def _ours(
    name: str,
    label: str,
    *,
    mode: str = OURS,
    fetch_bytes: int | None = None,
    environ: Mapping[str, str] | None = None,
    share: float = 1.0,
) -> Program:
    """Return a contestant of ours, with default settings except for ``fetch_bytes`` if given."""
    return Program(
        name=name,
        label=label,
        module="ours",
        mode=mode,
        environ=environ or {},
        settings={} if fetch_bytes is None else {"fetch.message.max.bytes": str(fetch_bytes)},
        share=share,
    )
