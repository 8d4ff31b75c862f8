"""Static files, such as styles and scripts."""

import os
from importlib.resources import files
from typing import Any

from starlette.responses import Response
from starlette.staticfiles import StaticFiles

_ASK_EACH_TIME = "no-cache"
_KEEP_A_DAY = "max-age=86400"


class PageFiles(StaticFiles):
    """Serves static files with cache headers.

    Fonts are cached, as reloading them with each page would make letters jump. Our own scripts and
    styles are revalidated each time ("not modified"): no browser keeps an older version.
    """

    def __init__(self) -> None:
        super().__init__(directory=str(files("zkconsumer.web") / "static"))

    def file_response(self, full_path: str | os.PathLike[str], *args: Any, **more: Any) -> Response:
        """See ``StaticFiles``."""
        response = super().file_response(full_path, *args, **more)
        vendored = f"{os.sep}vendor{os.sep}" in str(full_path)
        response.headers["cache-control"] = _KEEP_A_DAY if vendored else _ASK_EACH_TIME
        return response
