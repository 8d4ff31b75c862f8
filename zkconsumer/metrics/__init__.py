"""Numbers for Prometheus and spans for OpenTelemetry: of a whole cluster, and of one consumer.

Measurements are values (``families``), computed by pure functions; the adapters of the two
libraries are ``prometheus`` (extra ``metrics``) and ``spans``, and nothing else imports either.
"""
