"""Whom the client trusts with credentials, and what it says when it is not trusted itself."""

import logging
import ssl
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from certwright.client import ConnectionLost, TlsFailed
from certwright.client.config.config import Config, Material, User
from certwright.client.failures import Peer, explain
from certwright.client.http.errors import ClientCertificateRefused
from certwright.client.http.tls import refuses_certificate
from certwright.client.httptransport import is_exposed
from certwright.kube import Key
from certwright.kube.kinds import ConfigMap

KEY = Key("shop", "web")


async def answer(request: web.Request) -> web.StreamResponse:
    return web.json_response({"kind": "ConfigMap", "metadata": {"name": "web"}})


def certificate(tmp_path: Path, *names: str) -> Path:
    """Write a certificate of localhost, which only says so in its subject unless there are names."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
    )
    if names:
        alternative = x509.SubjectAlternativeName([x509.DNSName(name) for name in names])
        builder = builder.add_extension(alternative, critical=False)
    path = tmp_path / "server.pem"
    path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        + builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    )
    return path


@pytest.mark.parametrize(("names", "trusted"), [(("localhost",), True), ((), False)])
async def test_the_common_name_is_no_name_of_a_server(
    serve: Callable[..., Awaitable[Any]],
    client_of: Callable[..., Any],
    tmp_path: Path,
    names: tuple[str, ...],
    trusted: bool,  # noqa: FBT001 - a parameter
) -> None:
    pem = certificate(tmp_path, *names)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)
    url = (await serve(answer, context)).replace("127.0.0.1", "localhost")
    authority = pem.read_bytes().partition(b"-----BEGIN CERTIFICATE")
    client = client_of(Config(url, ca=Material(b"".join(authority[1:]))))
    if trusted:
        assert (await client.get(ConfigMap, KEY))["metadata"]["name"] == "web"
    else:
        with pytest.raises(TlsFailed, match="its certificate is not trusted"):
            await client.get(ConfigMap, KEY)


@pytest.mark.parametrize(
    ("server", "exposed"),
    [
        ("http://10.0.0.1:8080", True), ("http://api.example.com", True),
        ("https://api.example.com", False), ("http://127.0.0.1:8001", False),
        ("http://[::1]:8001", False), ("http://localhost:8001", False),
        ("http://localhost.example.com", True),
    ],
)  # fmt: skip
def test_what_can_be_read_on_the_way(server: str, exposed: bool) -> None:  # noqa: FBT001
    assert is_exposed(server) == exposed


async def test_credentials_that_go_out_unencrypted_are_warned_about_once(
    serve: Callable[..., Awaitable[Any]],
    client_of: Callable[..., Any],
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    url = await serve(answer)
    config = Config(url, user=User(token="canary-4711"))
    with caplog.at_level(logging.WARNING):
        await client_of(config).get(ConfigMap, KEY)
        assert not caplog.messages, "this host is not the way"
    monkeypatch.setattr("certwright.client.httptransport.is_exposed", lambda _: True)
    with caplog.at_level(logging.WARNING):
        client = client_of(config)
        await client.get(ConfigMap, KEY)
        await client.get(ConfigMap, KEY)
        await client_of(Config(url)).get(ConfigMap, KEY)
    (told,) = caplog.messages
    assert told.startswith(f"credentials of the given configuration go to {url} unencrypted")
    assert "canary" not in told


def alert(reason: str) -> ssl.SSLError:
    error = ssl.SSLError(1, reason)
    error.reason = reason
    return error


@pytest.mark.parametrize(
    ("reason", "refused"),
    [
        ("TLSV13_ALERT_CERTIFICATE_REQUIRED", True), ("TLSV1_ALERT_UNKNOWN_CA", True),
        ("SSLV3_ALERT_BAD_CERTIFICATE", True), ("SSLV3_ALERT_CERTIFICATE_EXPIRED", True),
        ("TLSV1_ALERT_ACCESS_DENIED", True), ("TLSV1_ALERT_INTERNAL_ERROR", False),
        ("SSLV3_ALERT_UNEXPECTED_MESSAGE", False), ("CERTIFICATE_VERIFY_FAILED", False),
    ],
)  # fmt: skip
def test_alerts_about_certificates_are_told_from_others(reason: str, refused: bool) -> None:  # noqa: FBT001
    assert refuses_certificate(alert(reason)) == refused


def test_only_a_refused_certificate_means_that_nothing_was_done() -> None:
    peer = Peer("https://api", "", "the kubeconfig", timedelta(seconds=1))
    refused = explain(ClientCertificateRefused("TLSV1_ALERT_UNKNOWN_CA"), peer)
    assert isinstance(refused, TlsFailed)
    assert str(refused) == (
        "https://api refuses our certificate (TLSV1_ALERT_UNKNOWN_CA); check the client "
        "certificate of the kubeconfig"
    )
    late = explain(alert("TLSV1_ALERT_INTERNAL_ERROR"), peer)
    assert isinstance(late, ConnectionLost)
    assert "whether the request took effect is unknown" in str(late)
