"""`certwright cert-manager` against a server: exit codes, and what is printed."""

import json
from collections.abc import Callable
from typing import Any

from tests.component.cli.conftest import Ask

from certwright.api.certmanagerdeployments import CertManagerDeployment
from certwright.client import Client, until_served
from certwright.kube import JsonObject, crd_manifest

CMD = CertManagerDeployment.resource
RESOURCE: JsonObject = {
    "apiVersion": CMD.api_version,
    "kind": CMD.kind,
    "metadata": {"name": "cluster"},
}


def declare(ask: Ask, **spec: Any) -> None:
    async def question(client: Client) -> None:
        await client.apply(crd_manifest(CertManagerDeployment))
        await until_served(client, crd_manifest(CertManagerDeployment))
        await client.create({**RESOURCE, "spec": spec})

    ask(question)


def test_check_names_the_broken_link(cli: Callable[..., Any]) -> None:
    done = cli("cert-manager", "check")
    assert done.code == 1
    assert "✓   API server" in done.out
    assert "broken: CRDs\nwhat to do: install them" in done.out
    told = json.loads(cli("cert-manager", "check", "-o", "json").out)
    assert [one["link"] for one in told if one["holds"] is False] == ["CRDs"]


def test_explain_without_an_installation(cli: Callable[..., Any]) -> None:
    done = cli("cert-manager", "explain")
    assert done.code == 2
    assert "there is no CertManagerDeployment" in done.err


def test_explain_what_no_operator_has_seen(cli: Callable[..., Any], ask: Ask) -> None:
    declare(ask, version="v1.21.2")
    done = cli("cert-manager", "explain")
    assert done.code == 1
    assert "certwright manager --operators certmanager" in done.out
    assert "wanted:     v1.21.2" in done.out
    assert json.loads(cli("cert-manager", "explain", "-o", "json").out)["kind"] == CMD.kind
