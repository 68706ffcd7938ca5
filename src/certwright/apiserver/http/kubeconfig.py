"""Kubeconfig files for the servers the testkit starts. They hold credentials: mode 0600."""

import base64

import orjson

from certwright.apiserver.http.certs import KeyPair
from certwright.kube.objects import JsonObject


def kubeconfig_with_certificate(server: str, authority: bytes, pair: KeyPair) -> str:
    """Return a kubeconfig whose user presents a client certificate."""
    return _kubeconfig(
        server,
        authority,
        {
            "client-certificate-data": _encoded(pair.certificate),
            "client-key-data": _encoded(pair.key),
        },
    )


def kubeconfig_with_token(server: str, authority: bytes, token: str) -> str:
    """Return a kubeconfig whose user presents a bearer token."""
    return _kubeconfig(server, authority, {"token": token})


def _kubeconfig(server: str, authority: bytes, user: JsonObject) -> str:
    name = "certwright"
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {
                "name": name,
                "cluster": {"server": server, "certificate-authority-data": _encoded(authority)},
            }
        ],
        "users": [{"name": name, "user": user}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "current-context": name,
    }
    return orjson.dumps(config, option=orjson.OPT_INDENT_2).decode()  # JSON is YAML


def _encoded(content: bytes) -> str:
    return base64.b64encode(content).decode()
