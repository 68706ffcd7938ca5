"""The official client reads the same kubeconfigs the same way."""

import base64
import os
import sys
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import kubernetes
import pytest
import yaml
from aiohttp import web

from certwright.apiserver.http.certs import TestAuthority
from certwright.client import Client, Config, HttpTransport, Material, load_config
from certwright.kube import JsonObject, Key
from certwright.kube.kinds import ConfigMap


@pytest.fixture
def pem(authority: TestAuthority, tmp_path: Path) -> JsonObject:
    """What to log in with, as files and as data."""
    pair = authority.client("alice")
    (tmp_path / "ca.crt").write_bytes(authority.certificate)
    (tmp_path / "me.crt").write_bytes(pair.certificate)
    (tmp_path / "me.key").write_bytes(pair.key)
    (tmp_path / "token").write_text("from-a-file\n")
    return {
        "ca": authority.certificate,
        "certificate": pair.certificate,
        "key": pair.key,
    }


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def plugin(status: str, version: str = "v1") -> JsonObject:
    """Describe a plugin that prints a status, given as the arguments of a dict."""
    code = (
        "import json, os; info = json.loads(os.environ['KUBERNETES_EXEC_INFO']);"
        f"print(json.dumps(dict(info, {status})))"
    )
    return {
        "apiVersion": f"client.authentication.k8s.io/{version}",
        "command": sys.executable,
        "args": ["-c", code],
        "interactiveMode": "Never",
    }


CASES = {
    "token": ({}, {"token": "secret"}),
    "token file": ({}, {"tokenFile": "token"}),
    "password": ({}, {"username": "joe", "password": "pw"}),
    "nobody": ({}, {}),
    "plugin": ({}, {"exec": plugin("status={'token': 'printed'}")}),
    "plugin of the older version": ({}, {"exec": plugin("status={'token': 'p'}", "v1beta1")}),
    "plugin that expires": (
        {},
        {
            "exec": plugin(
                "status={'token': 'printed', 'expirationTimestamp': '2099-01-01T00:00:00Z'}"
            )
        },
    ),
    "plugin that is told about the cluster": (
        {},
        {
            "exec": plugin("status={'token': info['spec']['cluster']['server'][8:]}")
            | {"provideClusterInfo": True}
        },
    ),
    "certificate files": (
        {"certificate-authority": "ca.crt"},
        {"client-certificate": "me.crt", "client-key": "me.key"},
    ),
    "certificate data": (
        {"certificate-authority-data": "@ca"},
        {"client-certificate-data": "@certificate", "client-key-data": "@key"},
    ),
    "data over files": (
        {"certificate-authority-data": "@ca", "certificate-authority": "nowhere"},
        {"client-certificate-data": "@certificate", "client-key-data": "@key"},
    ),
    "certificate and token": (
        {"certificate-authority": "ca.crt"},
        {"client-certificate": "me.crt", "client-key": "me.key", "token": "secret"},
    ),
    "insecure": ({"insecure-skip-tls-verify": True}, {"token": "secret"}),
    "server name": ({"tls-server-name": "api.internal"}, {"token": "secret"}),
    "proxy": ({"proxy-url": "http://proxy.example.com:3128"}, {"token": "secret"}),
    "a server with a path": ({"server": "https://api:6443/k8s/clusters/c-1"}, {"token": "secret"}),
    "a plain server": ({"server": "http://127.0.0.1:8001"}, {}),
    "an address": ({"server": "https://[fd00::1]:6443"}, {"token": "secret"}),
}


def official(path: str, context: str | None = None) -> Any:
    configuration = kubernetes.client.Configuration()
    load: Any = kubernetes.config.load_kube_config
    load(path, context, client_configuration=configuration)
    return configuration


def read(path: str | None) -> bytes:
    return Path(path).read_bytes() if path else b""


async def our_headers(config: Config, serve: Callable[..., Awaitable[Any]]) -> dict[str, str]:
    """Return what a server hears from us; asked over plain HTTP, which changes no header."""
    seen: dict[Any, Any] = {}

    async def answer(request: web.Request) -> web.StreamResponse:
        seen.update(request.headers)
        return web.json_response({})

    url = await serve(answer)
    plain = replace(config, server=url, proxy_url="", insecure_skip_tls_verify=False)
    async with Client(HttpTransport(plain)) as client:
        await client.get(ConfigMap, Key("a", "b"))
    return seen


def material(found: Material) -> bytes:
    return found.data or read(found.path)


@pytest.mark.parametrize("name", CASES)
async def test_same_server_same_login_same_trust(
    name: str, pem: dict[str, bytes], tmp_path: Path, serve: Callable[..., Awaitable[Any]]
) -> None:
    cluster, user = (
        {
            key: encoded(pem[value[1:]])
            if isinstance(value, str) and value.startswith("@")
            else value
            for key, value in cast("JsonObject", part).items()
        }
        for part in CASES[name]
    )
    document = {
        "current-context": "dev",
        "contexts": [{"name": "dev", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": "https://api:6443"} | cluster}],
        "users": [{"name": "u", "user": user}],
    }
    path = tmp_path / "config"
    path.write_text(yaml.safe_dump(document))
    theirs = official(str(path))
    ours = load_config(path, environ={})

    assert ours.server == theirs.host
    assert ours.insecure_skip_tls_verify != theirs.verify_ssl
    assert (ours.tls_server_name or None) == theirs.tls_server_name
    assert (ours.proxy_url or None) == theirs.proxy
    assert material(ours.ca) == read(theirs.ssl_ca_cert)
    assert material(ours.user.certificate) == read(theirs.cert_file)
    assert material(ours.user.key) == read(theirs.key_file)
    expected = theirs.auth_settings().get("BearerToken", {}).get("value") or (
        theirs.get_basic_auth_token() if theirs.username else None
    )
    headers = await our_headers(ours, serve)
    # The official client keeps the line end of a token file; no server would accept it.
    assert headers.get("Authorization") == (expected and expected.rstrip("\n"))


@pytest.mark.parametrize("context", [None, "one", "two", "shared"])
def test_same_entries_of_merged_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, context: str | None
) -> None:
    def part(name: str, **more: str) -> JsonObject:
        return {
            "contexts": [
                {"name": name, "context": {"cluster": name, "user": name}},
                {"name": "shared", "context": {"cluster": name, "user": name}},
            ],
            "clusters": [
                {"name": name, "cluster": {"server": f"https://{name}"}},
                {"name": "both", "cluster": {"server": f"https://both-{name}"}},
            ],
            "users": [{"name": name, "user": {"token": f"token-{name}"}}],
            **more,
        }

    paths = []
    for name, more in (("one", {}), ("two", {"current-context": "two"}), ("three", {})):
        path = tmp_path / name
        path.write_text(yaml.safe_dump(part(name, **more)))
        paths.append(str(path))
    listed = os.pathsep.join(paths)
    theirs = official(listed, context)
    ours = load_config(context=context, environ={"KUBECONFIG": listed})
    assert ours.server == theirs.host
    assert f"Bearer {ours.user.token}" == theirs.auth_settings()["BearerToken"]["value"]
