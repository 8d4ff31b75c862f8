"""Requests for pages, and views of them: values between the app and the templates."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import quote, urlencode

from zkconsumer.status.model import GroupKey


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRequest:
    """A request for a page, as pages see it.

    Attributes:
        path: undecoded, such as ``/groups/zookeeper/orders``.
        query: the decoded parameters; of several with the same name, the last.
        now_ms: the current time.
        token_in_use: whether the client is logged in, and can therefore log out.
        root: the prefix of the paths of one cluster among several; "" for the only one.
        delivery_problem: why some target gets no notifications; None if all get them, or before a
            login.
    """

    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    now_ms: int
    token_in_use: bool = False
    root: str = ""
    delivery_problem: str | None = None

    @property
    def section(self) -> str:
        """The navigation item of the page: the first part of its path."""
        return self.path.removeprefix(self.root).partition("/")[2].partition("/")[0]

    def at(self, **changes: str | int | None) -> str:
        """Return the URL of this page with changed parameters; None removes a parameter."""
        query: dict[str, str | int] = {**self.query}
        for name, value in changes.items():
            query.pop(name, None)
            if value is not None:
                query[name] = value
        return f"{self.path}?{urlencode(query)}" if query else self.path


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """A page to be rendered.

    Attributes:
        template: its file in ``templates/``.
        title: of the browser tab.
        context: the template's variables.
        status: the HTTP status of the response.
        group: the page's group, which is read more often while the page is open.
        live: whether the page updates itself while it is open.
        every_ms: the interval of updates that need no event; 0: none.
    """

    template: str
    title: str
    context: Mapping[str, object] = field(default_factory=dict)
    status: int = 200
    group: GroupKey | None = None
    live: bool = True
    every_ms: int = 0


def group_address(key: GroupKey) -> str:
    """Return the URL of a group's page."""
    return f"/groups/{key.kind}/{quote(key.group_id, safe='')}"


def topic_address(topic: str) -> str:
    """Return the URL of a topic's page."""
    return f"/topics/{quote(topic, safe='')}"
