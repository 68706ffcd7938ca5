"""Logging in with tokens, passwords and certificates; rotated, missing, rejected."""

import asyncio
import base64
import socket
import ssl
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from tests.component.client.conftest import Gate, SteppedClock

from certwright.apiserver.http.certs import KeyPair, TestAuthority
from certwright.client import Config, CredentialError, Material, TlsFailed, User
from certwright.client.config.config import Impersonation
from certwright.kube import Key, Unauthorized
from certwright.kube.kinds import ConfigMap

KEY = Key("shop", "web")


A_MOMENT = timedelta(seconds=1)


def replace(path: Path, text: str) -> None:
    """Write a file the way rotation does: a new file takes the place of the old."""
    fresh = path.with_suffix(".new")
    fresh.write_text(text)
    fresh.rename(path)


async def test_a_static_token(
    serve: Callable[..., Awaitable[Any]], client_of: Callable[..., Any], gate_for: type[Gate]
) -> None:
    gate = gate_for("secret")
    client = client_of(Config(await serve(gate), user=User(token="secret")))
    await client.get(ConfigMap, KEY)
    assert gate.seen == ["secret"]


async def test_a_password(
    serve: Callable[..., Awaitable[Any]], client_of: Callable[..., Any]
) -> None:
    seen = []

    async def answer(request: web.Request) -> web.StreamResponse:
        seen.append(request.headers["Authorization"])
        return web.json_response({})

    url = await serve(answer)
    await client_of(Config(url, user=User(username="joe", password="pw"))).get(ConfigMap, KEY)
    assert seen == ["Basic " + base64.b64encode(b"joe:pw").decode()]


async def test_a_rotated_token_is_used_a_moment_later(
    serve: Callable[..., Awaitable[Any]],
    client_of: Callable[..., Any],
    tmp_path: Path,
    clock: SteppedClock,
    gate_for: type[Gate],
) -> None:
    gate = gate_for("one", "two")
    file = tmp_path / "token"
    file.write_text("one\n")
    client = client_of(Config(await serve(gate), user=User(token_file=str(file))), clock=clock)
    await client.get(ConfigMap, KEY)
    replace(file, "two\n")
    clock.time += A_MOMENT
    await client.get(ConfigMap, KEY)
    file.unlink()  # between two rotations
    clock.time += A_MOMENT
    await client.get(ConfigMap, KEY)
    assert gate.seen == ["one", "two", "two"]


async def test_a_missing_token_file_is_named(client_of: Callable[..., Any], tmp_path: Path) -> None:
    file = tmp_path / "token"
    client = client_of(Config("http://127.0.0.1:1", user=User(token_file=str(file))))
    with pytest.raises(CredentialError) as caught:
        await client.get(ConfigMap, KEY)
    assert str(caught.value).startswith(f"{file} cannot be read (No such file or directory)")


@pytest.mark.parametrize("content", ["", "  \n"])
async def test_an_empty_token_file_is_named(
    client_of: Callable[..., Any], tmp_path: Path, content: str
) -> None:
    file = tmp_path / "token"
    file.write_text(content)
    client = client_of(Config("http://127.0.0.1:1", user=User(token_file=str(file))))
    with pytest.raises(CredentialError, match=f"{file}: the token is empty; log in again"):
        await client.get(ConfigMap, KEY)


@pytest.mark.parametrize("token", ["a\r\nX-Evil: yes", "ü", "two words"])
async def test_a_token_that_no_header_can_carry(client_of: Callable[..., Any], token: str) -> None:
    client = client_of(Config("http://127.0.0.1:1", user=User(token=token)))
    with pytest.raises(CredentialError, match="holds characters that cannot be sent"):
        await client.get(ConfigMap, KEY)


async def test_a_token_rotated_while_the_server_rejected_the_old_is_tried_once(
    serve: Callable[..., Awaitable[Any]],
    client_of: Callable[..., Any],
    tmp_path: Path,
    gate_for: type[Gate],
) -> None:
    file = tmp_path / "token"
    file.write_text("old")

    class Rotating(gate_for):  # type: ignore[valid-type, misc]  # a class from a fixture
        async def __call__(self, request: web.Request) -> web.StreamResponse:
            replace(file, "new")
            value: web.StreamResponse = await super().__call__(request)
            return value

    gate = Rotating("new")
    client = client_of(Config(await serve(gate), user=User(token_file=str(file))))
    await client.get(ConfigMap, KEY)
    assert gate.seen == ["old", "new"]


async def test_rejected_credentials_say_whose_they_are_and_what_to_do(
    serve: Callable[..., Awaitable[Any]], client_of: Callable[..., Any], gate_for: type[Gate]
) -> None:
    gate = gate_for("right")
    url = await serve(gate)
    config = Config(url, user=User(token="wrong"), source="context 'dev' of /home/me/config")
    client = client_of(config)
    with pytest.raises(Unauthorized) as caught:
        await client.get(ConfigMap, KEY)
    assert str(caught.value) == (
        f"{url} does not accept the credentials of context 'dev' of /home/me/config: "
        "they are wrong, expired or revoked; log in again or replace them"
    )
    assert gate.seen == ["wrong"], "nothing better was at hand, so nothing was repeated"
    with pytest.raises(Unauthorized, match="context 'dev'"):
        async with client.watch(ConfigMap):
            pytest.fail("the watch was rejected")


async def test_impersonation(
    serve: Callable[..., Awaitable[Any]], client_of: Callable[..., Any]
) -> None:
    seen: list[Any] = []

    async def answer(request: web.Request) -> web.StreamResponse:
        seen.extend(
            (name.lower(), value)
            for name, value in request.headers.items()
            if name.lower().startswith("impersonate")
        )
        return web.json_response({})

    impersonate = Impersonation(
        "jane", "u-1", ("dev", "ops"), (("example.com/scopes", ("a", "b")),)
    )
    await client_of(Config(await serve(answer), impersonate=impersonate)).get(ConfigMap, KEY)
    assert seen == [
        ("impersonate-user", "jane"),
        ("impersonate-uid", "u-1"),
        ("impersonate-group", "dev"),
        ("impersonate-group", "ops"),
        ("impersonate-extra-example.com%2fscopes", "a"),
        ("impersonate-extra-example.com%2fscopes", "b"),
    ]


async def test_a_client_certificate_as_data(
    mutual: Callable[..., Awaitable[Any]],
    client_of: Callable[..., Any],
    authority: TestAuthority,
    other_authority: TestAuthority,
) -> None:
    pair = other_authority.client("alice")
    user = User(certificate=Material(pair.certificate), key=Material(pair.key))
    config = Config(await mutual(), ca=Material(authority.certificate), user=user)
    assert (await client_of(config).get(ConfigMap, KEY))["metadata"]["name"] == "alice"


async def test_a_rotated_client_certificate_is_used_a_moment_later(
    mutual: Callable[..., Awaitable[Any]],
    client_of: Callable[..., Any],
    authority: TestAuthority,
    other_authority: TestAuthority,
    tmp_path: Path,
    clock: SteppedClock,
) -> None:
    def put(pair: KeyPair) -> None:
        replace(tmp_path / "tls.crt", pair.certificate.decode())
        replace(tmp_path / "tls.key", pair.key.decode())

    put(other_authority.client("alice"))
    user = User(
        certificate=Material(path=str(tmp_path / "tls.crt")),
        key=Material(path=str(tmp_path / "tls.key")),
    )
    config = Config(await mutual(), ca=Material(authority.certificate), user=user)
    client = client_of(config, clock=clock)
    assert (await client.get(ConfigMap, KEY))["metadata"]["name"] == "alice"
    put(other_authority.client("bob"))
    clock.time += A_MOMENT
    assert (await client.get(ConfigMap, KEY))["metadata"]["name"] == "bob"


async def test_a_half_rotated_pair_keeps_the_old_one(
    mutual: Callable[..., Awaitable[Any]],
    client_of: Callable[..., Any],
    authority: TestAuthority,
    other_authority: TestAuthority,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    clock: SteppedClock,
) -> None:
    certificate, key = tmp_path / "tls.crt", tmp_path / "tls.key"
    old, new = other_authority.client("alice"), other_authority.client("bob")
    certificate.write_bytes(old.certificate)
    key.write_bytes(old.key)
    user = User(certificate=Material(path=str(certificate)), key=Material(path=str(key)))
    config = Config(await mutual(), ca=Material(authority.certificate), user=user)
    client = client_of(config, clock=clock)
    await client.get(ConfigMap, KEY)
    replace(certificate, new.certificate.decode())
    for _ in range(2):
        clock.time += A_MOMENT
        assert (await client.get(ConfigMap, KEY))["metadata"]["name"] == "alice"
    assert [record.levelname for record in caplog.records] == ["WARNING"], "said once"
    replace(key, new.key.decode())
    clock.time += A_MOMENT
    assert (await client.get(ConfigMap, KEY))["metadata"]["name"] == "bob"


async def test_a_certificate_without_its_key(
    client_of: Callable[..., Any], authority: TestAuthority, other_authority: TestAuthority
) -> None:
    pair, other = other_authority.client("alice"), other_authority.client("bob")
    user = User(certificate=Material(pair.certificate), key=Material(other.key))
    config = Config("https://127.0.0.1:1", ca=Material(authority.certificate), user=user)
    with pytest.raises(CredentialError, match="must be PEM, unencrypted and belong together"):
        await client_of(config).get(ConfigMap, KEY)


async def test_a_server_that_does_not_accept_the_certificate(
    client_of: Callable[..., Any],
    server_tls: Callable[..., Any],
    authority: TestAuthority,
    other_authority: TestAuthority,
) -> None:
    context = server_tls(clients=other_authority)
    listener = socket.create_server(("127.0.0.1", 0))

    def reject() -> None:  # in a thread: asyncio's own TLS servers hang up without saying why
        connection, _ = listener.accept()
        secured = context.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
        with pytest.raises(ssl.SSLError):
            secured.do_handshake()
        with socket.socket(fileno=secured.detach()) as plain:
            plain.shutdown(socket.SHUT_WR)
            while plain.recv(4096):  # closing with unread bytes would swallow the alert
                pass

    pair = authority.client("mallory")  # not whom the server trusts
    user = User(certificate=Material(pair.certificate), key=Material(pair.key))
    url = f"https://127.0.0.1:{listener.getsockname()[1]}"
    client = client_of(Config(url, ca=Material(authority.certificate), user=user))
    with listener:
        async with asyncio.TaskGroup() as group:
            group.create_task(asyncio.to_thread(reject))
            with pytest.raises(TlsFailed, match="check the client certificate"):
                await client.get(ConfigMap, KEY)


async def test_a_watch_whose_login_cannot_be_renewed_gives_its_connection_back(
    serve_bytes: Callable[..., Awaitable[Any]], client_of: Callable[..., Any], tmp_path: Path
) -> None:
    token = tmp_path / "token"
    token.write_text("old")
    hung_up = asyncio.Event()

    async def reject(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        token.write_text("")
        writer.write(b"HTTP/1.1 401 No\r\nContent-Length: 1000\r\n\r\nto be continued")
        assert await reader.read() == b""
        hung_up.set()

    client = client_of(Config(await serve_bytes(reject), user=User(token_file=str(token))))
    with pytest.raises(CredentialError, match="the token is empty"):
        async with client.watch(ConfigMap):
            pass
    async with asyncio.timeout(5):
        await hung_up.wait()
