"""`certwright cert inspect` on objects of a cluster."""

from base64 import b64encode
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from certwright import pki
from certwright.api.certmanager import CertificateRequest
from certwright.apiserver import ApiServer
from certwright.client import Client, until_served
from certwright.kube import crd_manifest

NOW, DAY = datetime.now(UTC), timedelta(days=1)


def encoded(data: bytes) -> str:
    return b64encode(data).decode()


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[Client]:
    api = ApiServer()
    async with api.serve() as endpoint, Client(api.transport()) as client:
        endpoint.write_kubeconfig(tmp_path / "kubeconfig")
        yield client


@pytest.fixture
def inspect(start: Callable[..., Awaitable[Any]], tmp_path: Path) -> Callable[..., Awaitable[Any]]:
    async def run(*words: str) -> tuple[int, str]:
        running = await start("cert", "inspect", *words, "--kubeconfig", tmp_path / "kubeconfig")
        code = await running.end()
        return code, running.text

    return run


async def test_a_secret_with_the_wrong_key(
    cluster: Client, inspect: Callable[..., Awaitable[Any]]
) -> None:
    root = pki.create_root(
        pki.parse_name("CN=Root"), pki.generate_key(pki.KeySpec()), 99 * DAY, NOW
    )
    data = {
        "tls.crt": pki.write_certificates(root.certificate),
        "tls.key": pki.write_key(pki.generate_key(pki.KeySpec())),
    }
    await cluster.create(
        {
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "web", "namespace": "default"},
            "data": {name: encoded(value) for name, value in data.items()},
        }
    )  # fmt: skip
    code, text = await inspect("secret/web")
    assert code == 1
    assert text.startswith("Secret default/web\n")
    assert "ERROR    KeyMismatch" in text
    code, text = await inspect("secret/nobody", "-n", "elsewhere")
    assert (code, text.count("\n")) == (2, 0)
    assert (
        'secrets "nobody" not found in namespace elsewhere; choose another namespace with -n'
        in text
    )
    code, text = await inspect("cr/web")
    assert (code, "cert-manager" in text) == (2, True)
    code, text = await inspect("csr/web")
    assert (code, "namespace" in text) == (2, False)


async def test_the_namespace_of_the_context_is_meant(
    cluster: Client, inspect: Callable[..., Awaitable[Any]], tmp_path: Path
) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    config = yaml.safe_load(kubeconfig.read_text("utf-8"))
    config["contexts"][0]["context"]["namespace"] = "shop"
    kubeconfig.write_text(yaml.safe_dump(config), "utf-8")
    code, text = await inspect("secret/web")
    assert (code, "in namespace shop" in text) == (2, True)


async def test_a_request_of_cert_manager(
    cluster: Client, inspect: Callable[..., Awaitable[Any]]
) -> None:
    definition = crd_manifest(CertificateRequest)
    await cluster.create(definition)
    await until_served(cluster, definition)
    csr = pki.build_request(pki.generate_key(pki.KeySpec()), pki.parse_name("CN=web"))
    await cluster.create(
        {
            "apiVersion": "cert-manager.io/v1", "kind": "CertificateRequest",
            "metadata": {"name": "web", "namespace": "default"},
            "spec": {"request": encoded(pki.write_request(csr)), "issuerRef": {"name": "ca"}},
        }
    )  # fmt: skip
    code, text = await inspect("cr/web")
    assert code == 0
    assert "signing request: CN=web" in text
