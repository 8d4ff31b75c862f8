"""``make bench-drain``: whole drains, from the command's start to the proof.

Each pass is a new process, as users run it, so the start of Python, the JVM and Spark counts.
docs/performance.md explains how to read the results.
"""
