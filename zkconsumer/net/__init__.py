"""Connections to brokers: transports, TLS, SASL, version negotiation and requests."""
