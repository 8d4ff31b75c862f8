"""A kafka-python program with OpenTelemetry's instrumentation, run with our consumer.

It produces, consumes, and prints the resulting spans as JSON. It needs a separate process, since
importing kafka-python gives warnings, and the instrumentation wraps classes.

Usage: ``python -m tests.support.traced_program ADDRESS TOPIC COUNT for|next|untraced``
"""

import json
import sys
from contextlib import closing

import kafka
from opentelemetry.instrumentation.kafka import KafkaInstrumentor
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from zkconsumer import KafkaConsumer


def consume(topic: str, address: str, count: int, how: str) -> list[str]:
    """Consume with a loop or with ``next``; return the values."""
    with KafkaConsumer(
        topic, bootstrap_servers=address, auto_offset_reset="earliest", consumer_timeout_ms=2_000
    ) as consumer:
        if how == "next":
            return [next(consumer).value.decode() for _ in range(count)]
        return [record.value.decode() for record in consumer]


def main(address: str, topic: str, count: int, how: str) -> None:
    """Produce, consume, and print the spans."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    # The instrumentation wraps the class with this name, as a program imports it.
    kafka.KafkaConsumer = KafkaConsumer
    KafkaInstrumentor().instrument(tracer_provider=provider)
    with closing(kafka.KafkaProducer(bootstrap_servers=address)) as producer:
        for number in range(count):
            producer.send(topic, b"%d" % number).get(30)
    if how == "untraced":
        KafkaInstrumentor().uninstrument()
    values = consume(topic, address, count, how)
    spans = [
        {
            "name": span.name,
            "kind": span.kind.name,
            "id": span.context.span_id,
            "trace": span.context.trace_id,
            "parent": None if span.parent is None else span.parent.span_id,
            "attributes": dict(span.attributes or {}),
        }
        for span in exporter.get_finished_spans()
    ]
    json.dump({"values": values, "spans": spans}, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4])
