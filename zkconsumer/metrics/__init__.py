"""Metrics for Prometheus, of a whole cluster and of consumers, and a connector's spans.

Measurements are values (``families``), computed by pure functions. Only ``prometheus`` (extra
``metrics``) imports ``prometheus_client``, and only ``spans`` (extra ``tracing``) OpenTelemetry.
"""
