"""Limits on incoming connections: which are accepted, for how long, and which give way.

Our servers (web pages, metrics) accept through a ``Gate``. A client is untrusted until checked, and
can't hold resources that others need for long.
"""
