"""`certwright cert-manager` against a server: exit codes, and what is printed."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.component.cli.conftest import Ask

from certwright.api.certmanagerdeployments import CertManagerDeployment
from certwright.bundles.bundle import encode, make_bundle
from certwright.bundles.sources import file_name
from certwright.client import Client, until_served
from certwright.kube import JsonObject, Key, crd_manifest
from certwright.kube.kinds import Namespace
from certwright.testkit.actors.certmanager import small_release

CMD = CertManagerDeployment.resource
SMALL = "v1.21.2-small"
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
    assert "create one" in done.err
    assert "name a file with -f" in cli("cert-manager", "plan").err


def test_explain_what_no_operator_has_seen(cli: Callable[..., Any], ask: Ask) -> None:
    declare(ask, version="v1.21.2")
    done = cli("cert-manager", "explain")
    assert done.code == 1
    assert "certwright manager --operators certmanager" in done.out
    assert "wanted:     v1.21.2" in done.out
    assert json.loads(cli("cert-manager", "explain", "-o", "json").out)["kind"] == CMD.kind


@pytest.fixture
def bundles(tmp_path: Path) -> Path:
    folder = tmp_path / "bundles"
    folder.mkdir()
    (folder / file_name(SMALL)).write_bytes(encode(make_bundle(SMALL, small_release(SMALL))))
    return folder


def test_plan_of_a_file(
    cli: Callable[..., Any], ask: Ask, write: Callable[..., str], bundles: Path
) -> None:
    path = write({**RESOURCE, "spec": {"version": SMALL}})
    words = ("cert-manager", "plan", "-f", path, "--bundles", bundles)
    done = cli(*words)
    assert done.code == 1
    assert done.out.startswith(f"cert-manager {SMALL} would be installed in cert-manager\n")
    assert "Deployment cert-manager/cert-manager-webhook would be created\n" in done.out
    assert "    + kind:" not in done.out, "thousands of lines"
    assert (
        "note: the new objects as a whole are printed by: certwright cert-manager render"
        in done.err
    )
    told = json.loads(cli(*words, "-o", "json").out)
    assert told["dryRun"] is True
    assert told["problems"] == []
    assert "cert-manager" not in ask(_namespaces)


async def _namespaces(client: Client) -> set[str]:
    return {one["metadata"]["name"] for one in (await client.list(Namespace)).items}


def test_plan_without_its_bundle(
    cli: Callable[..., Any], write: Callable[..., str], bundles: Path
) -> None:
    path = write({**RESOURCE, "spec": {"version": "v1.20.3"}})
    done = cli("cert-manager", "plan", "-f", path, "--bundles", bundles)
    assert (done.code, done.out) == (2, "")
    assert "run: certwright bundle build v1.20.3" in done.err


def test_adopt(cli: Callable[..., Any], ask: Ask, write: Callable[..., str], bundles: Path) -> None:
    path = write({**RESOURCE, "spec": {"version": SMALL}})
    words = ("cert-manager", "adopt", "-f", path, "--bundles", bundles)
    assert cli(*words).out.startswith("there is nothing to take over")

    async def apply(client: Client) -> None:
        await client.apply(crd_manifest(CertManagerDeployment))
        await until_served(client, crd_manifest(CertManagerDeployment))
        for manifest in small_release(SMALL):
            await client.apply(manifest, field_manager="argocd")

    ask(apply)
    tried = cli(*words, "--dry-run")
    assert tried.code == 0, tried.err
    assert "argocd" in tried.out
    assert "as cert-manager v1.21.2-small has them; no pod is restarted. " in tried.out
    assert tried.out.endswith("\n(dry run: nothing was changed)\n")
    unasked = cli(*words)
    assert unasked.code == 2
    assert "add --yes" in unasked.err
    done = cli(*words, "--yes")
    assert done.code == 0, done.err
    stored = ask(lambda client: client.get(CMD, Key("", "cluster")))
    assert stored["spec"] == {"version": SMALL, "adopt": True}
