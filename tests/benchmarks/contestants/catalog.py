"""Everybody who takes part, in the order of the tables."""

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
    """Those whose delays are compared."""
    named = {one.name: one for one in everybody() if isinstance(one, Program | WarmScala)}
    return tuple(named[name] for name in (WARM_SCALA, CONFLUENT, KAFKA_PYTHON, OURS, OURS_PURE))


def everybody() -> tuple[Contestant, ...]:
    """All contestants."""
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
        Program(name=OURS, label="zkconsumer, one by one", module="ours", mode="one-by-one"),
        Program(name=BATCHES, label="zkconsumer, batches", module="ours", mode="batches"),
        Program(name=ARROW, label="zkconsumer, Arrow", module="ours", mode="arrow"),
        Program(
            name=ARROW_4MB,
            label="zkconsumer, Arrow, 4 MB at a time",
            module="ours",
            mode="arrow",
            fetch_bytes=4 * MEGABYTE,
        ),
        Program(
            name=OURS_PURE,
            label="zkconsumer, pure Python",
            module="ours",
            mode="one-by-one",
            environ=PURE,
            share=0.5,
        ),
    )
