"""Failures of authentication."""

from zkconsumer.error_codes import ErrorCode
from zkconsumer.errors.roots import BrokerResponseError, KafkaError


class AuthenticationFailedError(KafkaError):
    """Authentication failed on either side (SASL, TLS). It is not retried."""


AuthenticationFailed = AuthenticationFailedError


class SaslAuthenticationFailedError(
    AuthenticationFailedError, BrokerResponseError, code=ErrorCode.SASL_AUTHENTICATION_FAILED
):
    """The broker rejected our credentials, or could not prove that it knows them."""


class UnsupportedSaslMechanismError(
    AuthenticationFailedError, BrokerResponseError, code=ErrorCode.UNSUPPORTED_SASL_MECHANISM
):
    """The broker does not offer the configured SASL mechanism at this port."""


class IllegalSaslStateError(
    AuthenticationFailedError, BrokerResponseError, code=ErrorCode.ILLEGAL_SASL_STATE
):
    """A SASL request was sent to a port without SASL, or when the broker did not expect it."""
