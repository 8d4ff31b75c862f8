"""Limits incoming connections: which are accepted, for how long, and which are closed for others.

Our servers (web pages, metrics) accept through a ``Gate``. A client is untrusted until it has shown
a token, and can't hold resources for long that others need.
"""
