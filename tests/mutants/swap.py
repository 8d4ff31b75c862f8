"""Applies a mutant in a process that has imported the package, by replacing functions' code.

Code outside functions ran when the module was imported: such a mutant can be applied only before
that, by ``MutantFinder``.
"""

import gc
import importlib.abc
import importlib.machinery
import importlib.util
import inspect
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FunctionType, ModuleType


@dataclass(slots=True)
class Change:
    """The differences between two compilations of a module.

    Attributes:
        places: the innermost functions that differ, as ``place_of`` names them.
        codes: the old and new code of these and of all enclosing functions.
        outside: whether anything outside functions differs.
    """

    places: list[str] = field(default_factory=list)
    codes: dict[CodeType, CodeType] = field(default_factory=dict)
    outside: bool = False


def place_of(path: str, code: CodeType) -> str:
    """Name a function by its module, its first line, and the line after its last."""
    lines = [line for _, _, line in code.co_lines() if line is not None]
    inside = [line for line in lines if line > code.co_firstlineno] or lines
    return f"{path}:{min(inside)}:{max(inside) + 1}:{code.co_qualname}"


def change_between(path: str, old: str, new: str) -> Change:
    """Compare two sources of a module.

    Raises:
        SyntaxError: the new source is invalid.
    """
    change = Change()
    _compare(path, change, _compiled(old, path), _compiled(new, path))
    return change


def _compiled(source: str, path: str) -> CodeType:
    return compile(source, path, "exec", dont_inherit=True)


def _compare(path: str, change: Change, old: CodeType, new: CodeType) -> bool:
    """Record the differences; return whether there is any, including nested functions."""
    before, after = _inner(old), _inner(new)
    same_inside = [code_type.co_name for code_type in before] == [
        code_type.co_name for code_type in after
    ]
    differs = not same_inside or _own(old) != _own(new)
    is_function = bool(old.co_flags & inspect.CO_OPTIMIZED)
    if differs and is_function:
        change.places.append(place_of(path, old))
    elif differs:
        change.outside = True
    if same_inside:
        inside = [_compare(path, change, *pair) for pair in zip(before, after, strict=True)]
        differs = differs or any(inside)
    if differs and is_function:
        change.codes[old] = new
    return differs


def _inner(code: CodeType) -> list[CodeType]:
    return [code_type for code_type in code.co_consts if isinstance(code_type, CodeType)]


def _own(code: CodeType) -> Sequence[object]:
    """Return everything in a function's code but its lines and nested functions."""
    constants = [repr(item) for item in code.co_consts if not isinstance(item, CodeType)]
    names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    return code.co_code, constants, names, code.co_flags, code.co_exceptiontable


class Functions:
    """The package's functions in this process.

    Args:
        folder: the package's folder.
        top: the folder to which paths are relative.
    """

    def __init__(self, folder: Path, top: Path) -> None:
        self._by_path: dict[str, list[FunctionType]] = {}
        gc.unfreeze()  # frozen objects, such as pytest's imports, would not be found
        for object_ in gc.get_objects():
            if isinstance(object_, FunctionType) and object_.__code__.co_filename.startswith(
                str(folder)
            ):
                path = str(Path(object_.__code__.co_filename).relative_to(top))
                self._by_path.setdefault(path, []).append(object_)

    def put(self, path: str, change: Change) -> int:
        """Replace the functions' code; return how many were replaced.

        Raises:
            ValueError: the new code has other free variables.
        """
        count = 0
        for function in self._by_path.get(path, ()):
            new = change.codes.get(function.__code__)
            if new is not None:
                function.__code__ = new
                count += 1
        return count


class MutantFinder(importlib.abc.MetaPathFinder):
    """Imports one module from another source, as though its file contained it."""

    def __init__(self, top: Path, path: str, source: str) -> None:
        self._file = str(top / path)
        self._source = source
        parts = Path(path).with_suffix("").parts
        self._is_package = parts[-1] == "__init__"
        self._name = ".".join(parts[:-1] if self._is_package else parts)

    def find_spec(
        self, fullname: str, _path: object, _target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """See ``MetaPathFinder``."""
        if fullname != self._name:
            return None
        loader = _MutantLoader(fullname, self._file, self._source)
        return importlib.util.spec_from_file_location(fullname, self._file, loader=loader)


class _MutantLoader(importlib.machinery.SourceFileLoader):
    def __init__(self, name: str, file: str, source: str) -> None:
        super().__init__(name, file)
        self._source = source

    def get_code(self, _fullname: str) -> CodeType:
        return _compiled(self._source, self.path)
