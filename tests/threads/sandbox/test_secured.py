"""The parts of a secured sandbox, on real threads."""

from zkconsumer.net.client_credentials import ClientCredentials
from zkconsumer.net.oauth import FetchedTokens
from zkconsumer.sandbox.tokens import TokenServer


def test_tokens_are_given_to_our_client() -> None:
    """The sandbox's token server supports the client credentials grant."""
    server = TokenServer("client")
    try:
        credentials = ClientCredentials(
            endpoint_url=server.url, client_id="client", client_secret="any"
        )
        token = FetchedTokens(credentials).token()
    finally:
        server.close()
    assert token.count(".") == 2
