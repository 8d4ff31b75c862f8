"""Browses messages of a topic without joining a group or committing offsets.

``query`` and ``filters`` describe the request, ``decoding`` turns bytes into text, ``reading``
reads messages within limits of bytes and time. All but ``reading`` are pure.
"""
