"""Renders views as HTML, with the package's templates."""

from functools import cache

import jinja2

from zkconsumer.status.doctor.diagnosis import Diagnosis
from zkconsumer.status.doctor.headline import doctor_command, headline_of, headline_text
from zkconsumer.version import __version__
from zkconsumer.web.pages.formatting import FILTERS
from zkconsumer.web.pages.view import PageRequest, View, group_address, topic_address
from zkconsumer.web.state import ClusterState


def render(view: View, page_request: PageRequest, state: ClusterState | None) -> str:
    """Return a page as HTML.

    Args:
        view: the view.
        page_request: the request.
        state: for the frame around the view; None before a login.
    """
    template = _environment().get_template(view.template)

    def command(diagnosis: Diagnosis) -> str:
        return "" if state is None else doctor_command(diagnosis, state.snapshot)

    root = page_request.root
    around = {
        "view": view,
        "page_request": page_request,
        "state": state,
        "command": command,
        "root": root,
        "group_address": lambda key: root + group_address(key),
        "topic_address": lambda topic: root + topic_address(topic),
    }
    return template.render({**view.context, **around})


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("zkconsumer.web", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(FILTERS)
    environment.globals.update(
        version=__version__,
        headline_of=headline_of,
        headline_text=headline_text,
    )
    return environment
