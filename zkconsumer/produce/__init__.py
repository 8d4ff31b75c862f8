"""Producers: the public ``KafkaProducer``, and the one that the Spark sink and the mirror use."""
