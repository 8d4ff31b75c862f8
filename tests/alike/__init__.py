"""Runs the same cases with kafka-python and with zkconsumer, and compares their outcomes.

``python -m tests.alike`` starts a broker, runs all cases, and prints which outcomes differ.
"""
