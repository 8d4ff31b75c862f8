"""The same cases run against kafka-python and against ours, and their outcomes compared.

``python -m tests.alike`` starts a broker, runs them all, and tells which come out differently.
"""
