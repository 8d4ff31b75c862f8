"""The error codes of answers, where the messages that carry them are; see ``error_codes``."""

from zkconsumer.error_codes import Advice, ErrorCode, error_name

__all__ = ["Advice", "ErrorCode", "error_name"]
