"""Producers: the public ``KafkaProducer``, and the one of the Spark sink and the mirror."""
