"""``make bench-drain``: whole drains, from the command's start to the proof.

Each pass is a new process, as people run it, so starts count: of Python, of the JVM, of Spark.
docs/performance.md says how to read what comes out.
"""
