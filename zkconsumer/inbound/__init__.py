"""Connections that others open to us: who is let in, for how long, and who gives way.

Servers of ours (the page, the port of metrics) accept through a ``Gate``. Whoever connects is a
stranger until checked, and holds nothing for long that somebody else needs.
"""
