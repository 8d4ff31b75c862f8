"""The APIs of Spark 1 and 2 for reading Kafka, for old programs."""
