"""The ways of Spark 1 and 2 to read Kafka, for old programs."""
