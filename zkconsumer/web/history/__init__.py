"""What was seen over time, in a SQLite file that other programs may read, too.

``samples`` packs what was seen into rows (pure), ``statements`` has all SQL, ``database`` opens the
file and mends what can be mended, ``recorder`` is the one thread that writes, ``past`` reads.
"""
