"""A client that acts as another user."""

from contextlib import AbstractAsyncContextManager

import pytest

from certwright.client import Client, Config, HttpTransport, Request, Response, Stream
from certwright.client.config.config import Impersonation
from certwright.client.errors import CredentialError
from certwright.kube import Key
from certwright.kube.kinds import ConfigMap


class Recorded:
    """A transport that answers everything, and remembers what was asked."""

    def __init__(self) -> None:
        self.requests: list[Request] = []

    async def send(self, request: Request) -> Response:
        self.requests.append(request)
        return Response(200, {}, b'{"metadata":{"name":"a"}}')

    def stream(self, request: Request) -> AbstractAsyncContextManager[Stream]:
        raise NotImplementedError

    async def close(self) -> None:
        raise NotImplementedError


def users(transport: Recorded) -> list[str | None]:
    return [dict(request.headers).get("impersonate-user") for request in transport.requests]


async def test_its_requests_name_the_user_and_those_of_the_first_do_not() -> None:
    transport = Recorded()
    client = Client(transport)
    other = client.acting_as("system:serviceaccount:team:web")
    for one in (client, other, client):
        await one.get(ConfigMap, Key("team", "a"))
        await one.delete(ConfigMap, Key("team", "a"))
    user = "system:serviceaccount:team:web"
    assert users(transport) == [None, None, user, user, None, None]


@pytest.mark.parametrize("user", ["", "a\nb", "a\r\nx: y", "ä"])
def test_no_user_and_impossible_ones_are_refused(user: str) -> None:
    with pytest.raises(ValueError, match="is not a user to act as"):
        Client(Recorded()).acting_as(user)


async def test_a_kubeconfig_that_impersonates_already_is_refused_before_anything_is_sent() -> None:
    config = Config("http://127.0.0.1:1", impersonate=Impersonation("somebody"))
    client = Client(HttpTransport(config)).acting_as("other")
    with pytest.raises(CredentialError, match="acts as 'somebody' already"):
        await client.get(ConfigMap, Key("team", "a"))
    await client.close()
