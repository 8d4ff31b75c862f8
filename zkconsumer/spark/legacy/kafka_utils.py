"""``KafkaUtils`` for programs written for Spark 1 and 2: change the import, keep the rest.

::

    from pyspark.streaming.kafka import KafkaUtils, OffsetRange  # Spark 2.4 and before
    from zkconsumer.spark import KafkaUtils, OffsetRange  # now

Ranges are fixed, so a retried task reads the same messages. Offsets are the program's own
responsibility: nothing is committed.

Source: Spark 2.4 ``KafkaUtils``.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pyspark import SparkContext

from zkconsumer.spark.legacy.rdd import (
    KafkaRDD,
    MessageHandler,
    cluster_of,
    planned,
    reading,
)
from zkconsumer.spark.legacy.values import (
    Broker,
    Decoder,
    OffsetRange,
    TopicAndPartition,
    legacy_params,
    utf8_decoder,
)

if TYPE_CHECKING:
    from pyspark.streaming import StreamingContext

    from zkconsumer.spark.legacy.stream import KafkaDStream


class KafkaUtils:
    """The methods of ``pyspark.streaming.kafka.KafkaUtils``, without its receivers."""

    @staticmethod
    def createRDD(  # noqa: N802, PLR0913, PLR0917 - as in Spark
        sc: SparkContext,
        kafkaParams: Mapping[str, str],  # noqa: N803 - Spark's name
        offsetRanges: Sequence[OffsetRange],  # noqa: N803 - Spark's name
        leaders: Mapping[TopicAndPartition, Broker] | None = None,
        keyDecoder: Decoder = utf8_decoder,  # noqa: N803 - Spark's name
        valueDecoder: Decoder = utf8_decoder,  # noqa: N803 - Spark's name
        messageHandler: MessageHandler | None = None,  # noqa: N803 - Spark's name
    ) -> KafkaRDD:
        """Return an RDD of these ranges' messages.

        Args:
            sc: Spark's context.
            kafkaParams: ``metadata.broker.list`` or ``bootstrap.servers``, or
                ``zookeeper.connect``; and 0.8's settings for fetching.
            offsetRanges: the ranges to read.
            leaders: the leaders of partitions; missing ones are looked up.
            keyDecoder: decodes a key's bytes, or None.
            valueDecoder: decodes a value's bytes, or None.
            messageHandler: converts a message to an element; by default ``(key, value)``.

        Raises:
            ConfigError: a parameter is wrong, or the log does not hold a range from end to end;
                before any task starts.
            TransportError: no broker responds.
        """
        params = legacy_params(kafkaParams)
        with cluster_of(params) as reader:
            partitions = planned(reader, params, offsetRanges, leaders or {})
        return KafkaRDD(sc, partitions, reading(keyDecoder, valueDecoder, messageHandler))

    @staticmethod
    def createDirectStream(  # noqa: N802, PLR0913, PLR0917 - as in Spark
        ssc: "StreamingContext",
        topics: Sequence[str],
        kafkaParams: Mapping[str, str],  # noqa: N803 - Spark's name
        fromOffsets: Mapping[TopicAndPartition, int] | None = None,  # noqa: N803 - Spark's name
        keyDecoder: Decoder = utf8_decoder,  # noqa: N803 - Spark's name
        valueDecoder: Decoder = utf8_decoder,  # noqa: N803 - Spark's name
        messageHandler: MessageHandler | None = None,  # noqa: N803 - Spark's name
    ) -> "KafkaDStream":
        """Return a stream; each batch holds the messages since the last one.

        Args:
            ssc: Spark's streaming context.
            topics: the topics to read; the same as in ``fromOffsets`` if that is given.
            kafkaParams: as for ``createRDD``; ``auto.offset.reset`` decides where to start:
                ``smallest``, or ``largest`` (the default).
            fromOffsets: the partitions to read, and where to start in each.
            keyDecoder: as for ``createRDD``.
            valueDecoder: as for ``createRDD``.
            messageHandler: as for ``createRDD``.

        Raises:
            ConfigError: a parameter is wrong, or a topic does not exist.
            TransportError: no broker responds.
        """
        from zkconsumer.spark.legacy.stream import direct_stream  # noqa: PLC0415 - loads DStreams

        return direct_stream(
            ssc,
            topics,
            legacy_params(kafkaParams),
            fromOffsets,
            reading(keyDecoder, valueDecoder, messageHandler),
        )
