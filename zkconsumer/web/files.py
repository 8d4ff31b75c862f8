"""Static files, such as styles and scripts."""

import os
from importlib.resources import files
from typing import Any

from starlette.responses import Response
from starlette.staticfiles import StaticFiles


class PageFiles(StaticFiles):
    """Serves static files, which browsers revalidate each time, so that none are outdated."""

    def __init__(self) -> None:
        super().__init__(directory=str(files("zkconsumer.web") / "static"))

    def file_response(self, full_path: str | os.PathLike[str], *args: Any, **more: Any) -> Response:
        """See ``StaticFiles``."""
        response = super().file_response(full_path, *args, **more)
        response.headers["cache-control"] = "no-cache"
        return response
