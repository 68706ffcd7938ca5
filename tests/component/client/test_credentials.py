"""Logging in: tokens, certificates, plugins; rotated, expired, rejected."""

import asyncio
import base64
import json
import os
import socket
import ssl
import sys
from datetime import UTC, datetime, timedelta

import pytest
from aiohttp import web

from certwright.client import (
    Config,
    CredentialError,
    ExecPlugin,
    Impersonation,
    InteractiveMode,
    Material,
    TlsFailed,
    User,
    execplugin,
)
from certwright.kube import Key, Unauthorized
from certwright.kube.kinds import ConfigMap

KEY = Key("shop", "web")
V1 = "client.authentication.k8s.io/v1"


class Clock:
    """A clock that stands still until it is told to move."""

    def __init__(self):
        self.time = datetime(2030, 1, 1, tzinfo=UTC)

    def now(self):
        return self.time

    def monotonic(self):
        return self.time.timestamp()


class Gate:
    """A server that lets in whoever sends one of the accepted tokens."""

    def __init__(self, *accepted):
        self.accepted = set(accepted)
        self.seen = []

    async def __call__(self, request):
        token = request.headers.get("Authorization", "").removeprefix("Bearer ")
        self.seen.append(token)
        if token not in self.accepted:
            return web.json_response({"kind": "Status", "message": "Unauthorized"}, status=401)
        if "watch" in request.query:
            return web.Response(text='{"type":"ADDED"}\n')
        return web.json_response({"metadata": {"name": "web"}})


def replace(path, text):
    """Write a file the way rotation does: a new file takes the place of the old."""
    fresh = path.with_suffix(".new")
    fresh.write_text(text)
    fresh.rename(path)


async def test_a_static_token(serve, client_of):
    gate = Gate("secret")
    client = client_of(Config(await serve(gate), user=User(token="secret")))
    await client.get(ConfigMap, KEY)
    assert gate.seen == ["secret"]


async def test_a_password(serve, client_of):
    seen = []

    async def answer(request):
        seen.append(request.headers["Authorization"])
        return web.json_response({})

    url = await serve(answer)
    await client_of(Config(url, user=User(username="joe", password="pw"))).get(ConfigMap, KEY)
    assert seen == ["Basic " + base64.b64encode(b"joe:pw").decode()]


async def test_a_rotated_token_is_used_by_the_next_request(serve, client_of, tmp_path):
    gate = Gate("one", "two")
    file = tmp_path / "token"
    file.write_text("one\n")
    client = client_of(Config(await serve(gate), user=User(token_file=str(file))))
    await client.get(ConfigMap, KEY)
    replace(file, "two\n")
    await client.get(ConfigMap, KEY)
    file.unlink()  # between two rotations
    await client.get(ConfigMap, KEY)
    assert gate.seen == ["one", "two", "two"]


async def test_a_missing_token_file_is_named(client_of, tmp_path):
    file = tmp_path / "token"
    client = client_of(Config("http://127.0.0.1:1", user=User(token_file=str(file))))
    with pytest.raises(CredentialError) as caught:
        await client.get(ConfigMap, KEY)
    assert str(caught.value).startswith(f"{file} cannot be read (No such file or directory)")


@pytest.mark.parametrize("content", ["", "  \n"])
async def test_an_empty_token_file_is_named(client_of, tmp_path, content):
    file = tmp_path / "token"
    file.write_text(content)
    client = client_of(Config("http://127.0.0.1:1", user=User(token_file=str(file))))
    with pytest.raises(CredentialError, match=f"{file}: the token is empty; log in again"):
        await client.get(ConfigMap, KEY)


@pytest.mark.parametrize("token", ["a\r\nX-Evil: yes", "ü", "two words"])
async def test_a_token_that_no_header_can_carry(client_of, token):
    client = client_of(Config("http://127.0.0.1:1", user=User(token=token)))
    with pytest.raises(CredentialError, match="holds characters that cannot be sent"):
        await client.get(ConfigMap, KEY)


async def test_a_token_rotated_while_the_server_rejected_the_old_is_tried_once(
    serve, client_of, tmp_path
):
    file = tmp_path / "token"
    file.write_text("old")

    class Rotating(Gate):
        async def __call__(self, request):
            replace(file, "new")
            return await super().__call__(request)

    gate = Rotating("new")
    client = client_of(Config(await serve(gate), user=User(token_file=str(file))))
    await client.get(ConfigMap, KEY)
    assert gate.seen == ["old", "new"]


async def test_rejected_credentials_say_whose_they_are_and_what_to_do(serve, client_of):
    gate = Gate("right")
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


async def test_impersonation(serve, client_of):
    seen = []

    async def answer(request):
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


@pytest.fixture
def mutual(serve, server_tls, other_authority):
    """A server that asks for client certificates and says whom it sees."""

    async def start():
        async def answer(request):
            certificate = request.transport.get_extra_info("peercert")
            subject = {name: value for rdn in certificate["subject"] for name, value in rdn}
            return web.json_response({"metadata": {"name": subject["commonName"]}})

        return await serve(answer, server_tls(clients=other_authority))

    return start


async def test_a_client_certificate_as_data(mutual, client_of, authority, other_authority):
    pair = other_authority.client("alice")
    user = User(certificate=Material(pair.certificate), key=Material(pair.key))
    config = Config(await mutual(), ca=Material(authority.certificate), user=user)
    assert (await client_of(config).get(ConfigMap, KEY))["metadata"]["name"] == "alice"


async def test_a_rotated_client_certificate_is_used_by_the_next_connection(
    mutual, client_of, authority, other_authority, tmp_path
):
    def put(pair):
        replace(tmp_path / "tls.crt", pair.certificate.decode())
        replace(tmp_path / "tls.key", pair.key.decode())

    put(other_authority.client("alice"))
    user = User(
        certificate=Material(path=str(tmp_path / "tls.crt")),
        key=Material(path=str(tmp_path / "tls.key")),
    )
    config = Config(await mutual(), ca=Material(authority.certificate), user=user)
    client = client_of(config)
    assert (await client.get(ConfigMap, KEY))["metadata"]["name"] == "alice"
    put(other_authority.client("bob"))
    assert (await client.get(ConfigMap, KEY))["metadata"]["name"] == "bob"


async def test_a_half_rotated_pair_keeps_the_old_one(
    mutual, client_of, authority, other_authority, tmp_path, caplog
):
    certificate, key = tmp_path / "tls.crt", tmp_path / "tls.key"
    old, new = other_authority.client("alice"), other_authority.client("bob")
    certificate.write_bytes(old.certificate)
    key.write_bytes(old.key)
    user = User(certificate=Material(path=str(certificate)), key=Material(path=str(key)))
    client = client_of(Config(await mutual(), ca=Material(authority.certificate), user=user))
    await client.get(ConfigMap, KEY)
    replace(certificate, new.certificate.decode())
    for _ in range(2):
        assert (await client.get(ConfigMap, KEY))["metadata"]["name"] == "alice"
    assert [record.levelname for record in caplog.records] == ["WARNING"], "said once"
    replace(key, new.key.decode())
    assert (await client.get(ConfigMap, KEY))["metadata"]["name"] == "bob"


async def test_a_certificate_without_its_key(client_of, authority, other_authority):
    pair, other = other_authority.client("alice"), other_authority.client("bob")
    user = User(certificate=Material(pair.certificate), key=Material(other.key))
    config = Config("https://127.0.0.1:1", ca=Material(authority.certificate), user=user)
    with pytest.raises(CredentialError, match="must be PEM, unencrypted and belong together"):
        await client_of(config).get(ConfigMap, KEY)


async def test_a_server_that_does_not_accept_the_certificate(
    client_of, server_tls, authority, other_authority
):
    context = server_tls(clients=other_authority)
    listener = socket.create_server(("127.0.0.1", 0))

    def reject():  # in a thread: asyncio's own TLS servers hang up without saying why
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


# Exec plugins


@pytest.fixture
def plugin(tmp_path):
    """Make a plugin of a few lines of Python; it counts its runs in a file."""

    def make(code, **options):
        script = tmp_path / "plugin.py"
        runs = tmp_path / "runs"
        script.write_text(
            "import json, os, sys\n"
            f"open({str(runs)!r}, 'a').write('x')\n"
            f"run = len(open({str(runs)!r}).read())\n"
            "def show(**status):\n"
            f"    print(json.dumps({{'apiVersion': {V1!r}, 'kind': 'ExecCredential', 'status': status}}))\n"
            + code
        )
        return ExecPlugin(sys.executable, V1, (str(script),), **options)

    make.runs = lambda: len((tmp_path / "runs").read_text())
    return make


async def test_a_plugin_gives_a_token_once(serve, client_of, plugin):
    gate = Gate("from-plugin")
    user = User(exec=plugin("show(token='from-plugin')"))
    client = client_of(Config(await serve(gate), user=user))
    async with asyncio.TaskGroup() as group:
        for _ in range(5):
            group.create_task(client.get(ConfigMap, KEY))
    assert plugin.runs() == 1


async def test_a_plugin_runs_again_when_the_token_expires(serve, client_of, plugin):
    clock = Clock()
    expires = (clock.now() + timedelta(hours=1)).isoformat()
    gate = Gate("t1", "t2")
    user = User(exec=plugin(f"show(token=f't{{run}}', expirationTimestamp={expires!r})"))
    client = client_of(Config(await serve(gate), user=user), clock=clock)
    await client.get(ConfigMap, KEY)
    clock.time += timedelta(minutes=58)
    await client.get(ConfigMap, KEY)
    clock.time += timedelta(minutes=1)  # a minute before the end
    await client.get(ConfigMap, KEY)
    assert gate.seen == ["t1", "t1", "t2"]


async def test_a_rejected_token_makes_the_plugin_run_once_more(serve, client_of, plugin):
    clock = Clock()
    gate = Gate("t2")
    client = client_of(
        Config(await serve(gate), user=User(exec=plugin("show(token=f't{run}')"))), clock=clock
    )
    with pytest.raises(Unauthorized):
        await client.get(ConfigMap, KEY)  # it ran a moment ago: running it again is no help
    assert plugin.runs() == 1
    clock.time += timedelta(seconds=11)
    await client.get(ConfigMap, KEY)
    assert gate.seen == ["t1", "t1", "t2"]
    async with client.watch(ConfigMap) as lines:
        assert [batch async for batch in lines] == [[b'{"type":"ADDED"}']]


async def test_a_server_that_rejects_everything_is_no_fork_loop(serve, client_of, plugin):
    clock = Clock()
    client = client_of(
        Config(await serve(Gate()), user=User(exec=plugin("show(token='x')"))), clock=clock
    )
    for _ in range(5):
        with pytest.raises(Unauthorized):
            await client.get(ConfigMap, KEY)
        clock.time += timedelta(seconds=1)
    assert plugin.runs() == 1


async def test_a_plugin_gives_a_certificate(mutual, client_of, authority, other_authority, plugin):
    pair = other_authority.client("carol")
    code = f"show(clientCertificateData={pair.certificate.decode()!r}, clientKeyData={pair.key.decode()!r})"
    config = Config(
        await mutual(), ca=Material(authority.certificate), user=User(exec=plugin(code))
    )
    assert (await client_of(config).get(ConfigMap, KEY))["metadata"]["name"] == "carol"


async def test_a_plugin_is_told_about_the_cluster(plugin, tmp_path):
    told = tmp_path / "told"
    made = plugin(
        f"open({str(told)!r}, 'w').write(os.environ['KUBERNETES_EXEC_INFO'] + os.environ['EXTRA'])\n"
        "show(token='x')",
        env=(("EXTRA", "!"),),
        interactive_mode=InteractiveMode.NEVER,
        cluster_info={"server": "https://api", "config": {"audience": "a"}},
    )
    await execplugin.run(made, "here")
    text = told.read_text()
    assert text.endswith("!")
    assert json.loads(text[:-1]) == {
        "apiVersion": V1,
        "kind": "ExecCredential",
        "spec": {
            "interactive": False,
            "cluster": {"server": "https://api", "config": {"audience": "a"}},
        },
    }


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("sys.exit('please run: login --again')", "failed with exit code 1: please run: login"),
        ("sys.exit(3)", "failed with exit code 3: it printed no reason"),
        ("print('canary')", "did not print a usable ExecCredential"),
        ("show(token=5)", "did not print a usable ExecCredential: Expected `str`, got `int`"),
        ("show()", "printed neither token nor certificate"),
        ("show(clientCertificateData='x')", "a certificate without key"),
        ("show(token='a', expirationTimestamp='2030-01-01T00:00:00')", "without a time zone"),
        ('print(\'{"apiVersion":"v1","kind":"Pod","status":{}}\')', "printed Pod of v1"),
        ("print('x' * 2**21)", "printed more than 1048576 bytes"),
    ],
)
async def test_a_plugin_that_fails(plugin, code, message):
    made = plugin(code)
    with pytest.raises(CredentialError) as caught:
        await execplugin.run(made, "user 'dev' of config")
    assert str(caught.value).startswith(f"user 'dev' of config: the exec plugin {sys.executable!r}")
    assert message in str(caught.value)
    assert "canary" not in str(caught.value)


async def test_a_plugin_that_is_not_installed():
    made = ExecPlugin("/nowhere/plugin", V1, install_hint="brew install plugin")
    with pytest.raises(CredentialError) as caught:
        await execplugin.run(made, "here")
    assert str(caught.value) == (
        "here: the exec plugin '/nowhere/plugin' cannot be run (No such file or directory): "
        "brew install plugin"
    )


async def test_a_plugin_that_never_ends_is_stopped(plugin, tmp_path):
    made = plugin(
        f"open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid()))\nsys.stdin.close(); import threading; threading.Event().wait()"
    )
    with pytest.raises(CredentialError, match=r"did not finish within 0\.5 s"):
        await execplugin.run(made, "here", patience=timedelta(seconds=0.5))
    pid = tmp_path / "pid"
    if pid.exists():
        with pytest.raises(ProcessLookupError):
            os.kill(int(pid.read_text()), 0)


async def test_a_plugin_that_needs_a_person(plugin):
    made = plugin("show(token='x')", interactive_mode=InteractiveMode.ALWAYS)
    with pytest.raises(CredentialError, match="needs a person at a terminal and there is none"):
        await execplugin.run(made, "here")
