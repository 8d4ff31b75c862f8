"""Decodes values of Confluent's serializers: their schema ids, schemas and typed columns.

``wire_format`` splits the id from a value, ``registry`` and ``folder`` find the schema, ``avro``,
``json_schema`` and ``protobuf`` compile a decoder from it, and ``decoding`` turns values into one
Arrow column and rejects. All but ``registry`` and ``folder`` are pure.
"""
