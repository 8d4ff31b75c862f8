"""The page of a cluster: a reader that goes on and on, what it saw over time, and who serves it.

``state`` is what pages show, ``watching`` keeps it current, ``history`` keeps what was, ``app`` and
``serving`` answer browsers. Needs the extra ``web``.
"""
