"""What a secured sandbox is made of: on real threads."""

from zkconsumer.net.client_credentials import ClientCredentials
from zkconsumer.net.oauth import FetchedTokens
from zkconsumer.sandbox.tokens import TokenServer


def test_tokens_are_given_to_our_client() -> None:
    """By the grant of client credentials."""
    server = TokenServer("client")
    try:
        credentials = ClientCredentials(
            endpoint_url=server.url, client_id="client", client_secret="any"
        )
        token = FetchedTokens(credentials).token()
    finally:
        server.close()
    assert token.count(".") == 2
