"""Interface between ``decoding`` and the decoders of each format. Pure."""

from importlib.util import find_spec
from typing import Protocol

import pyarrow as pa

from zkconsumer.errors import ConfigError
from zkconsumer.schemas.definition import SchemaDefinition


class PayloadDecoder(Protocol):
    """Decodes payloads of one schema. Thread: any."""

    @property
    def type(self) -> pa.DataType:
        """The Arrow type of decoded values."""
        ...

    def decode(self, payload: bytes) -> object:
        """Return the value in a form that ``pyarrow.array`` accepts for this type.

        Raises:
            Exception: the payload is not of this schema; any class of error means that.
        """
        ...


_NEEDED = {"avro": ("fastavro",), "protobuf": ("google", "google.protobuf"), "json": ()}


def need_library(kind: str) -> None:
    """Check that the library for this kind is installed.

    Raises:
        ConfigError: it is not installed; says how to install it.
    """
    if not all(find_spec(name) is not None for name in _NEEDED[kind]):
        library = "protobuf" if kind == "protobuf" else "fastavro"
        raise ConfigError(
            f"decoding {kind} needs {library}, which is not installed: "
            "pip install 'zkconsumer[schemas]'"
        )


def payload_decoder(
    definition: SchemaDefinition,
    message: tuple[int, ...],
    reader: SchemaDefinition | None = None,
) -> PayloadDecoder:
    """Return the decoder of a schema.

    Args:
        definition: the schema.
        message: for Protobuf, the indexes that lead to the message type; empty: the first one.
        reader: for Avro, the schema that values are resolved to; None: their own.

    Raises:
        SchemaError: the schema is invalid, or columns can't hold its values.
    """
    match definition.kind:
        case "avro":
            from zkconsumer.schemas.avro import AvroDecoder  # noqa: PLC0415 - optional

            return AvroDecoder(definition, reader)
        case "protobuf":
            from zkconsumer.schemas.protobuf import ProtobufDecoder  # noqa: PLC0415 - optional

            return ProtobufDecoder(definition, message or (0,))
        case _:
            from zkconsumer.schemas.json_schema import JsonDecoder  # noqa: PLC0415 - see above

            return JsonDecoder(definition)
