"""Finds schemas in a folder: files named by the schema's id, its GUID, or a subject.

``7.avsc`` is schema 7, ``orders-value.avsc`` that of a subject. An Avro value can be decoded by its
own schema alone; JSON and Protobuf can by another one's, so there a subject's file serves for ids
that have none of their own.
"""

import base64
from pathlib import Path
from typing import Final

from zkconsumer.errors import ConfigError, SchemaError
from zkconsumer.schemas.definition import MAX_SCHEMA_BYTES, SchemaDefinition
from zkconsumer.schemas.wire_format import SchemaKey

_ENDINGS: Final = {
    "avro": (".avsc", ".json"),
    "json": (".json",),
    "protobuf": (".desc", ".pb", ".protoset", ".bin"),
}


class SchemaFolder:
    """See ``SchemaSource``.

    Args:
        folder: where the files are.
        kind: of the schemas; the endings of files follow from it.
        subject: whose file serves for ids that have none; see above.

    Raises:
        ConfigError: there is no such folder.
    """

    def __init__(self, folder: str, kind: str, subject: str | None = None) -> None:
        self._folder = Path(folder)
        self._kind = kind
        self._subject = subject
        if not self._folder.is_dir():
            raise ConfigError(f"--schemas: {folder} is no folder")

    def find(self, key: SchemaKey) -> SchemaDefinition | None:
        """See ``SchemaSource``."""
        found = self._read(str(key))
        if found is None and self._subject is not None and self._kind != "avro":
            return self._read(self._subject)
        return found

    def _read(self, name: str) -> SchemaDefinition | None:
        for ending in _ENDINGS[self._kind]:
            path = self._folder / f"{name}{ending}"
            try:
                with path.open("rb") as file:
                    data = file.read(MAX_SCHEMA_BYTES + 1)
            except FileNotFoundError:
                continue
            except OSError as error:
                raise SchemaError(f"{path} can't be read: {error.strerror}") from error
            return self._definition(path, data)
        return None

    def _definition(self, path: Path, data: bytes) -> SchemaDefinition:
        if len(data) > MAX_SCHEMA_BYTES:
            raise SchemaError(f"{path} is longer than {MAX_SCHEMA_BYTES} bytes")
        is_binary = self._kind == "protobuf"
        try:
            text = base64.b64encode(data).decode() if is_binary else data.decode()
        except UnicodeDecodeError:
            raise SchemaError(f"{path} is not UTF-8") from None
        return SchemaDefinition(kind=self._kind, text=text, is_set=is_binary)
