"""`certwright conformance` against a cluster where nothing can be tested."""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from certwright.apiserver import ApiServer
from certwright.client import Client, until_served
from certwright.issuers.ca import app


@pytest.fixture
async def tested(
    start: Callable[..., Awaitable[Any]], tmp_path: Path
) -> AsyncIterator[Callable[..., Awaitable[Any]]]:
    """Run the command with the namespace ``shop`` in the context."""
    api, kubeconfig = ApiServer(), tmp_path / "kubeconfig"

    async def run(issuer: str, *words: str) -> tuple[int, str]:
        options = ("--issuer", f"issuers.certwright.dev/{issuer}", "--kubeconfig", kubeconfig)
        running = await start("conformance", *options, *words)
        return await running.end(), running.text

    issuer: dict[str, Any] = {
        "apiVersion": "issuers.certwright.dev/v1alpha1",
        "kind": "CAClusterIssuer",
    }
    async with api.serve() as endpoint, Client(api.transport()) as client:
        for definition in app.crds():
            await client.apply(definition)
            await until_served(client, definition)
        spec = {"authorities": [{"name": "ca"}]}
        await client.create({**issuer, "metadata": {"name": "lonely"}, "spec": spec})
        endpoint.write_kubeconfig(kubeconfig)
        config = yaml.safe_load(kubeconfig.read_text("utf-8"))
        config["contexts"][0]["context"]["namespace"] = "shop"
        kubeconfig.write_text(yaml.safe_dump(config), "utf-8")
        yield run


async def test_an_issuer_that_is_not_there_is_told_with_its_namespace(
    tested: Callable[..., Awaitable[Any]],
) -> None:
    missing = 'error: caissuers.issuers.certwright.dev "no" not found in namespace'
    assert await tested("CAIssuer/no") == (2, f"{missing} shop: create the issuer first")
    assert await tested("CAIssuer/no", "-n", "other") == (
        2,
        f"{missing} other: create the issuer first",
    )
    code, text = await tested("CAClusterIssuer/no")
    assert (code, "namespace" in text) == (2, False)


async def test_missing_definitions_of_cert_manager_are_told_in_a_sentence(
    tested: Callable[..., Awaitable[Any]],
) -> None:
    said = (
        "error: this cluster serves no CertificateRequests of cert-manager.io/v1: install"
        " cert-manager, or its CustomResourceDefinitions alone, first"
    )
    assert await tested("CAClusterIssuer/lonely") == (2, said)
