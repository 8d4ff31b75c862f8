"""Measurements of a consumer, with kafka-python's names."""
