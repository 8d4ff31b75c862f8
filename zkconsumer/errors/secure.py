"""Failures of authentication."""

from zkconsumer.error_codes import ErrorCode
from zkconsumer.errors.roots import BrokerResponseError, KafkaError


class AuthenticationFailedError(KafkaError):
    """Authentication failed on either side (SASL, TLS). Not retried."""


AuthenticationFailed = AuthenticationFailedError


class SaslAuthenticationFailedError(
    AuthenticationFailedError, BrokerResponseError, code=ErrorCode.SASL_AUTHENTICATION_FAILED
):
    """The broker refuses our user name and password, or can't prove that it knows them itself."""


class UnsupportedSaslMechanismError(
    AuthenticationFailedError, BrokerResponseError, code=ErrorCode.UNSUPPORTED_SASL_MECHANISM
):
    """The broker's port offers other SASL mechanisms than the configured one."""


class IllegalSaslStateError(
    AuthenticationFailedError, BrokerResponseError, code=ErrorCode.ILLEGAL_SASL_STATE
):
    """SASL began on a port without it, or at a point where the broker does not expect it."""
