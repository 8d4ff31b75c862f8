"""Simple pages: the login, and errors. Pure."""

from zkconsumer.web.pages.view import View


def login_page(*, refused: str | None = None, onward: str = "/") -> View:
    """Return the login form.

    Args:
        refused: why the last attempt failed; None if there was none.
        onward: the URL to go to afterwards.
    """
    return View(
        template="login.html",
        title="Log in",
        context={"refused": refused, "onward": onward},
        status=200 if refused is None else 403,
        live=False,
    )


def sorry_page(status: int, sentence: str) -> View:
    """Return an error page; after a 404 it updates itself once its subject exists."""
    return View(
        template="sorry.html",
        title="Not found" if status == 404 else "Not shown",
        context={"sentence": sentence},
        status=status,
        live=status == 404,
    )
