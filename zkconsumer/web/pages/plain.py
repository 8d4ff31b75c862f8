"""Pages that tell little: the login, and what went wrong. Pure."""

from zkconsumer.web.pages.view import View


def login_page(*, refused: str | None = None, onward: str = "/") -> View:
    """Return a form that asks for the token.

    Args:
        refused: why the last try was none.
        onward: the address to go to afterwards.
    """
    return View(
        template="login.html",
        title="Log in",
        context={"refused": refused, "onward": onward},
        status=200 if refused is None else 403,
        live=False,
    )


def sorry_page(status: int, sentence: str) -> View:
    """Return what can't be shown, and why; where it turns up later, the page shows it then."""
    return View(
        template="sorry.html",
        title="Not there" if status == 404 else "Not shown",
        context={"sentence": sentence},
        status=status,
        live=status == 404,
    )
