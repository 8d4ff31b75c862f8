"""Decodes values of Confluent's serializers to typed columns, by the schemas they name.

``wire_format`` splits the id from a value, ``registry`` and ``folder`` find the schema, ``avro``,
``json_schema`` and ``protobuf`` compile a decoder from it, and ``decoding`` turns values into one
Arrow column and rejects. Only ``registry`` and ``folder`` do I/O.
"""
