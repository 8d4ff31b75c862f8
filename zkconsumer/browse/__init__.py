"""Looks at messages of a topic: no group is joined, nothing is committed.

``query`` and ``filters`` say what is wanted, ``decoding`` makes text of bytes, ``reading`` reads,
bounded in bytes and time. All but ``reading`` are pure.
"""
