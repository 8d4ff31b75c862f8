"""The history of a cluster, in a SQLite file that other programs may read, too.

``samples`` packs observations into rows (pure), ``statements`` has all SQL, ``database`` opens and
repairs the file, ``writing`` adds rows, ``upkeep`` thins them out, ``recorder`` is the one thread
that does both, ``past`` reads the file.
"""
