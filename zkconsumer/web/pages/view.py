"""What a browser asks for, and what it is shown: values between the app and the templates."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import quote, urlencode

from zkconsumer.status.model import GroupKey


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRequest:
    """A request for a page, as far as pages look at it.

    Attributes:
        path: of the request, not decoded, such as ``/groups/zookeeper/orders``.
        query: the parameters, decoded; the last of several with one name.
        now_ms: the time.
        token_in_use: whether people have to log in, so that they can log out, too.
    """

    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    now_ms: int
    token_in_use: bool = False

    def at(self, **changes: str | int | None) -> str:
        """Return the address of this page with other parameters; None takes one away."""
        query: dict[str, str | int] = {**self.query}
        for name, value in changes.items():
            query.pop(name, None)
            if value is not None:
                query[name] = value
        return f"{self.path}?{urlencode(query)}" if query else self.path


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """A page that is ready to be rendered.

    Attributes:
        template: its file in ``templates/``.
        title: what the browser's tab says.
        context: what the template shows.
        status: of the answer.
        group: whose page this is: it is looked at more often while somebody has it open.
        live: whether it goes on changing while it is open.
    """

    template: str
    title: str
    context: Mapping[str, object] = field(default_factory=dict)
    status: int = 200
    group: GroupKey | None = None
    live: bool = True


def group_address(key: GroupKey) -> str:
    """Return the page of a group."""
    return f"/groups/{key.kind}/{quote(key.group_id, safe='')}"


def topic_address(topic: str) -> str:
    """Return the page of a topic."""
    return f"/topics/{quote(topic, safe='')}"
