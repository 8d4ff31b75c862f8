"""Values in the formats of Confluent's serializers: their schema ids, schemas and typed columns.

``wire_format`` takes the id off a value, ``registry`` and ``folder`` find the schema, ``avro``,
``json_schema`` and ``protobuf`` make a decoder of it, and ``decoding`` turns values into one Arrow
column and rejects. All but ``registry`` and ``folder`` are pure.
"""
