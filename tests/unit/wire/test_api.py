"""Requests and the responses that they declare."""

from typing import get_args

import pytest

from tests.support.all_requests import REQUESTS
from zkconsumer.wire.api import ApiKey, Request, Response


def test_every_api_has_its_request() -> None:
    """Each API key has a request class of that API."""
    assert set(REQUESTS) == set(ApiKey)
    assert all(request.API.key is key for key, request in REQUESTS.items())


@pytest.mark.parametrize("request_type", REQUESTS.values())
def test_type_and_codec_agree_on_the_response(request_type: type[Request[Response]]) -> None:
    """The response type that the type checker sees is the one that the codec decodes."""
    (base,) = request_type.__orig_bases__  # type: ignore[attr-defined]
    assert get_args(base) == (request_type.RESPONSE,)
    assert request_type.RESPONSE.API is request_type.API
