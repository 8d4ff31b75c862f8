"""The measurements of a consumer, named as in kafka-python."""
