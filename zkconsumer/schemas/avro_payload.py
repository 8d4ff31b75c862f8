"""Checks an Avro payload against its writer's schema, before fastavro reads it. Pure.

fastavro trusts its input: it accepts -1 as the index of a union's last branch and numbers of any
length, and allocates any size.

Source: Avro 1.12 specification, binary encoding.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from zkconsumer.errors import SchemaError
from zkconsumer.schemas.bounds import CellBudget
from zkconsumer.schemas.wire_format import BadValue

_INT_BYTES: Final = 5
_LONG_BYTES: Final = 10
_MOST_INT: Final = 2**31
_MOST_NESTED: Final = 200
_FIXED_SIZES: Final = {"null": 0, "float": 4, "double": 8}


class _Payload:
    """The state of checking one payload."""

    __slots__ = ("budget", "data", "depth", "size")

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.size = len(data)
        self.budget = CellBudget(len(data))
        self.depth = 0


_Check = Callable[[_Payload, int], int]
"""Checks the value that begins at an index; returns the index where it ends."""


class PayloadCheck:
    """Checks payloads of one schema. Thread: any.

    Args:
        names: the named schemas, as fastavro parsed them.

    Attributes:
        is_recursive: whether values can hold values of their own type.

    Raises:
        SchemaError: it contains a type that no payload can have, or lists without a limit.
    """

    def __init__(self, schema: Any, names: Mapping[str, Any]) -> None:
        compiler = _Compiler(names, is_counted=False)
        self._check = compiler.check_of(schema)
        self.is_recursive = compiler.is_recursive
        if self.is_recursive:
            self._check = _Compiler(names, is_counted=True).check_of(schema)

    def check(self, data: bytes) -> None:
        """Check that a payload is exactly one value of the schema.

        Raises:
            BadValue: the payload is not such a value.
        """
        try:
            end = self._check(_Payload(data), 0)
        except IndexError:
            end = len(data) + 1
        if end > len(data):
            raise BadValue("the value is truncated")
        if end < len(data):
            raise BadValue(f"{len(data) - end} bytes follow the end of the value")


class _Widths:
    """Counts the values that an item of a schema holds, and finds whether it can take no bytes."""

    def __init__(self, names: Mapping[str, Any]) -> None:
        self._names = names
        self._known: dict[str, tuple[int, bool]] = {}

    def of(self, schema: Any) -> tuple[int, bool]:
        """Return the number of values, not counting list items, and whether they take any bytes."""
        if isinstance(schema, list):
            return max((self.of(branch)[0] for branch in schema), default=1), True
        if isinstance(schema, str):
            if schema in self._names:
                return self._named(schema, self._names[schema])
            return 1, schema != "null"
        kind = schema["type"]
        if kind in ("record", "error"):
            return self._named(schema["name"], schema)
        if kind == "fixed":
            return 1, schema["size"] > 0
        if kind in ("array", "map", "enum"):
            return 1, True
        return self.of(kind)

    def _named(self, name: str, schema: Any) -> tuple[int, bool]:
        if schema["type"] not in ("record", "error"):
            return self.of(schema)
        known = self._known.get(name)
        if known is None:
            # A recursive schema becomes text within itself, and each of its records is counted.
            self._known[name] = (1, True)
            fields = [self.of(field["type"]) for field in schema["fields"]]
            known = 1 + sum(cells for cells, _ in fields), any(some for _, some in fields)
            self._known[name] = known
        return known


class _Compiler:
    """Compiles the checks of one schema.

    Args:
        names: the named schemas.
        is_counted: whether each record counts against the budget, as in recursive schemas.
    """

    def __init__(self, names: Mapping[str, Any], *, is_counted: bool) -> None:
        self._names = names
        self._is_counted = is_counted
        self.is_recursive = False
        self._widths = _Widths(names)
        self._known: dict[str, _Check] = {}
        self._open: set[str] = set()

    def check_of(self, schema: Any) -> _Check:
        """Return the check of values of a schema."""
        if isinstance(schema, list):
            return _union([self.check_of(branch) for branch in schema])
        if isinstance(schema, str):
            found = _PRIMITIVES.get(schema)
            return self._named(schema, self._names[schema]) if found is None else found
        kind = schema["type"]
        match kind:
            case "record" | "error" | "fixed" | "enum":
                return self._named(schema["name"], schema)
            case "array":
                cells, takes_bytes = self._widths.of(schema["items"])
                if not takes_bytes:
                    raise SchemaError(
                        "it has arrays whose items take no bytes, so their length has no limit"
                    )
                return _blocks(self.check_of(schema["items"]), cells)
            case "map":
                cells, _ = self._widths.of(schema["values"])
                return _blocks(_record([_string, self.check_of(schema["values"])]), cells)
            case _:
                return self.check_of(kind)

    def _named(self, name: str, schema: Any) -> _Check:
        known = self._known.get(name)
        if known is not None:
            return known
        if name in self._open:
            self.is_recursive = True
            return self._within_itself(name)
        self._open.add(name)
        match schema["type"]:
            case "fixed":
                made = _fixed(schema["size"])
            case "enum":
                made = _enum(len(schema["symbols"]))
            case _:
                made = self._record(schema)
        self._open.discard(name)
        self._known[name] = made
        return made

    def _record(self, schema: Any) -> _Check:
        fields = _record([self.check_of(field["type"]) for field in schema["fields"]])
        if not self._is_counted:
            return fields
        cells = 1 + len(schema["fields"])

        def check(payload: _Payload, at: int) -> int:
            payload.budget.take(cells)
            return fields(payload, at)

        return check

    def _within_itself(self, name: str) -> _Check:
        known = self._known

        def check(payload: _Payload, at: int) -> int:
            payload.depth += 1
            if payload.depth > _MOST_NESTED:
                raise BadValue("it is nested too deeply")
            end = known[name](payload, at)
            payload.depth -= 1
            return end

        return check


def _number(payload: _Payload, at: int) -> tuple[int, int]:
    """Return a long, and where it ends."""
    data, found, shift = payload.data, 0, 0
    for end in range(at, at + _LONG_BYTES):
        byte = data[end]
        found |= (byte & 0x7F) << shift
        if byte < 0x80:
            if found >> 64:
                break
            return (found >> 1) ^ -(found & 1), end + 1
        shift += 7
    raise BadValue("it has a number of more than 64 bits")


def _long(payload: _Payload, at: int) -> int:
    if payload.data[at] < 0x80:
        return at + 1
    return _number(payload, at)[1]


def _int(payload: _Payload, at: int) -> int:
    if payload.data[at] < 0x80:
        return at + 1
    number, end = _number(payload, at)
    if not -_MOST_INT <= number < _MOST_INT or end - at > _INT_BYTES:
        raise BadValue("it has an int of more than 32 bits")
    return end


def _boolean(payload: _Payload, at: int) -> int:
    if payload.data[at] > 1:
        raise BadValue(f"it has an invalid boolean: {payload.data[at]}")
    return at + 1


def _string(payload: _Payload, at: int) -> int:
    length, at = _number(payload, at)
    if length < 0:
        raise BadValue(f"it has an invalid length: {length}")
    if length > payload.size - at:
        raise BadValue("the value is truncated")
    return at + length


def _fixed(size: object) -> _Check:
    if not isinstance(size, int) or size < 0:
        raise SchemaError("it has a fixed type without a size")
    return lambda _, at: at + size


_PRIMITIVES: Final[dict[str, _Check]] = {
    **{name: _fixed(size) for name, size in _FIXED_SIZES.items()},
    "boolean": _boolean,
    "int": _int,
    "long": _long,
    "string": _string,
    "bytes": _string,
}


def _enum(symbols: int) -> _Check:
    def check(payload: _Payload, at: int) -> int:
        index, end = _number(payload, at)
        if not 0 <= index < symbols:
            raise BadValue(f"its enum has no symbol {index}")
        return end

    return check


def _union(branches: list[_Check]) -> _Check:
    def check(payload: _Payload, at: int) -> int:
        index, end = _number(payload, at)
        if not 0 <= index < len(branches):
            raise BadValue(f"its union has no branch {index}")
        return branches[index](payload, end)

    return check


def _record(fields: list[_Check]) -> _Check:
    def check(payload: _Payload, at: int) -> int:
        for field in fields:
            at = field(payload, at)
        return at

    return check


def _blocks(item: _Check, cells: int) -> _Check:
    """Return the check of the blocks of an array or a map whose items take at least one byte."""

    def check(payload: _Payload, at: int) -> int:
        while True:
            count, at = _number(payload, at)
            if count < 0:
                size, at = _number(payload, at)
                if not 0 <= size <= payload.size - at:
                    raise BadValue(f"it has a block with an invalid size: {size} bytes")
                count = -count
            if not count:
                return at
            if count > payload.size - at:
                raise BadValue("the value is truncated")
            payload.budget.take(count * cells)
            for _ in range(count):
                at = item(payload, at)

    return check
