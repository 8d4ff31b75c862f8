"""Failures of authentication."""

from zkconsumer.error_codes import ErrorCode
from zkconsumer.errors.roots import BrokerResponseError, KafkaError


class AuthenticationFailedError(KafkaError):
    """Authentication failed on either side (SASL, TLS). Not retried."""


AuthenticationFailed = AuthenticationFailedError


class SaslAuthenticationFailedError(
    AuthenticationFailedError, BrokerResponseError, code=ErrorCode.SASL_AUTHENTICATION_FAILED
):
    """The broker does not take our name and password, or can't prove that it knows them itself."""


class UnsupportedSaslMechanismError(
    AuthenticationFailedError, BrokerResponseError, code=ErrorCode.UNSUPPORTED_SASL_MECHANISM
):
    """The broker's port has other mechanisms of SASL than the one that was set."""


class IllegalSaslStateError(
    AuthenticationFailedError, BrokerResponseError, code=ErrorCode.ILLEGAL_SASL_STATE
):
    """SASL was begun where the broker has none, or not at this point."""
