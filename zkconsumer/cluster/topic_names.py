"""Valid topic names. Pure."""


def legal_topic(name: object) -> bool:
    """Return whether a broker of any version accepts the name (Kafka ``Topic.validate``)."""
    if not isinstance(name, str):
        return False
    legal = all(c.isascii() and (c.isalnum() or c in "._-") for c in name)
    return legal and 0 < len(name) <= 255 and name not in (".", "..")
