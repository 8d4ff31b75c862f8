"""The original's decoders; instead of Kafka's ``DefaultDecoder``, give no decoder."""


class StringDecoder:
    """Decodes bytes to text.

    Args:
        encoding: the charset; ``serializer.encoding`` of the configuration, UTF-8 by default.
        errors: what to do with bytes that are not such text, as in ``bytes.decode``.

    Source: Kafka 0.8.2.2 ``StringDecoder``.

    Example:
        >>> StringDecoder("latin-1")(b"abc")
        'abc'
    """

    __slots__ = ("_encoding", "_errors")

    def __init__(self, encoding: str = "utf-8", errors: str = "strict") -> None:
        self._encoding = encoding
        self._errors = errors

    def __call__(self, data: bytes) -> str:
        """Return the text.

        Raises:
            UnicodeDecodeError: the bytes are not text in this encoding (with ``strict``).
        """
        return data.decode(self._encoding, self._errors)
