"""Numbers for Prometheus and spans for OpenTelemetry: of a whole cluster, and of one consumer.

What is measured is values (``families``), found by pure functions; the doors to the two libraries
are ``prometheus`` (extra ``metrics``) and ``spans``, and nothing else imports either.
"""
