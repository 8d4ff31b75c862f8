"""A drain's storage in memory, with a hook at every point where a process may be killed."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

from zkconsumer.drain.storage import StoredFile, in_the_way, missing


class MemoryStorage:
    """A ``Storage``; it passes the same contract suite as the file systems do.

    Args:
        at: called with a point's name before and after each change, and between the parts of a
            change that is not atomic; what it raises is passed on to the caller.
    """

    def __init__(self, at: Callable[[str], None] = lambda _point: None) -> None:
        self.content: dict[str, bytes] = {}
        self.at = at

    def uri(self, path: str) -> str:
        """See ``Storage``."""
        return f"memory:/drain/{path}"

    def read(self, path: str) -> bytes | None:
        """See ``Storage``."""
        self.at(f"read {path}")
        return self.content.get(path)

    def create(self, path: str, data: bytes) -> bool:
        """See ``Storage``."""
        self.at(f"before create {path}")
        if path in self.content:
            return False
        self.content[path] = data
        self.at(f"after create {path}")
        return True

    def hold(self, path: str) -> AbstractContextManager[bool]:
        """See ``Storage``; always successful, without a lock."""
        del path
        return nullcontext(enter_result=True)

    def names(self, folder: str) -> list[str]:
        """See ``Storage``."""
        self.at(f"names {folder}")
        below = (path.removeprefix(f"{folder}/" if folder else "") for path in self._below(folder))
        return list(dict.fromkeys(path.split("/")[0] for path in below))

    def files(self, folder: str) -> list[StoredFile]:
        """See ``Storage``."""
        self.at(f"files {folder}")
        return [
            StoredFile(path.removeprefix(folder + "/"), len(self.content[path]))
            for path in sorted(self._below(folder))
        ]

    def move(self, source: str, target: str) -> None:
        """See ``Storage``."""
        self.at(f"before move {source}")
        if source not in self.content:
            if target not in self.content:
                raise missing(self.uri(source), self.uri(target))
        elif target not in self.content:
            self.content[target] = self.content.pop(source)
            self.at(f"after move {source}")
        elif len(self.content[source]) != len(self.content[target]):
            raise in_the_way(self.uri(source), self.uri(target))
        else:
            del self.content[source]
            self.at(f"after delete {source}")

    def delete(self, folder: str) -> None:
        """See ``Storage``; the files are deleted one after the other."""
        for path in self._below(folder):
            self.at(f"before delete {path}")
            self.content.pop(path, None)
        self.at(f"after delete {folder}")

    def _below(self, folder: str) -> list[str]:
        return [path for path in self.content if path.startswith(f"{folder}/" if folder else "")]
