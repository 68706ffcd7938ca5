"""The conformance command against a shipped issuer, in a cluster that cert-manager runs in."""

import asyncio
import sys
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, cast
from xml.etree import ElementTree as ET

import pytest

from certwright import pki
from certwright.api.certmanager import CertificateRequest, IssuerRef
from certwright.clock import SYSTEM
from certwright.issuer import Bundle, Issuer, IssuerApp, Request
from certwright.kube import Object
from certwright.kube.kinds import CertificateSigningRequest
from certwright.testkit import RealCluster
from certwright.testkit.certmanager import CertManager

pytestmark = pytest.mark.timeout(180)

KEY = pki.generate_key(pki.KeySpec())
ROOT = pki.create_root(pki.distinguished_name("wrong"), KEY, timedelta(days=3), SYSTEM.now())
COMMAND = Path(sys.executable).with_name("certwright")


@dataclass(frozen=True)
class Nothing:
    """Nothing to be set."""


async def command(plane: Any, issuer: IssuerRef, namespace: str, *words: str) -> tuple[int, str]:
    process = await asyncio.create_subprocess_exec(
        COMMAND, "conformance", "--kubeconfig", plane.kubeconfig, "--namespace", namespace,
        "--issuer", f"{issuer.group}/{issuer.kind}/{issuer.name}", "--timeout", "30s", *words,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    out, _ = await process.communicate()
    assert process.returncode is not None
    return process.returncode, out.decode()


@pytest.mark.scenario("ISS-98")
async def test_the_shipped_authority_conforms(
    cert_manager: CertManager,
    cert_manager_cluster: RealCluster,
    ca_cluster_issuer: IssuerRef,
    tmp_path: Path,
) -> None:
    """Only what the approver of cert-manager makes invisible, and renewal information, is left."""
    junit = tmp_path / "out.xml"
    cluster = cert_manager_cluster
    code, out = await command(
        cert_manager.plane, ca_cluster_issuer, cluster.namespace, "--junit", str(junit)
    )
    assert code == 0, out
    (suite,) = ET.fromstring(junit.read_bytes())  # noqa: S314 - our own
    skipped = {case.attrib["name"] for case in suite if case.find("skipped") is not None}
    assert skipped <= {
        "it tells when to renew",
        "a request waits for approval",
        "a denied request ends",
        "a request marked invalid is left alone",
    }
    assert suite.attrib["failures"] == "0"
    assert int(suite.attrib["tests"]) > 60
    assert "  KubernetesCSRs             supported" in out
    assert await cluster.names(CertificateRequest) == set(), "it removes what it created"
    left = await cluster.names(CertificateSigningRequest)
    assert not [name for name in left if name.startswith("conformance-")]


async def test_a_broken_issuer_is_told_what_is_wrong(
    cert_manager: CertManager, cert_manager_cluster: RealCluster, run_app: Any
) -> None:
    app = IssuerApp(group="wrong.example.com", kind="WrongIssuer", spec=Nothing, compat="upstream")

    @app.sign
    def sign(request: Request, issuer: Issuer[Nothing]) -> Bundle:
        template = pki.server_template(
            request.csr.subject, KEY.public_key(), timedelta(hours=1), request.names
        )
        return Bundle(ROOT.write_chain(ROOT.issue(template, request.now)))

    cluster, resource = cert_manager_cluster, cast("type[Object]", app.namespaced_kind).resource
    async with run_app(app):
        await cluster.serve(*app.kinds)
        await cluster.create(
            {
                "apiVersion": f"{resource.group}/{resource.version}",
                "kind": resource.kind,
                "metadata": {"name": "wrong"},
                "spec": {},
            }
        )
        issuer = IssuerRef("wrong", resource.kind, resource.group)
        code, out = await command(cert_manager.plane, issuer, cluster.namespace)
    assert code == 1
    assert "failed: CertificateRequest: one DNS name: KeyMismatch, DurationMismatch" in out
    assert "  Duration                   FAILED" in out
    assert "  KubernetesCSRs             not tried" in out


async def test_an_issuer_that_is_not_there_cannot_be_tested(
    cert_manager: CertManager, cert_manager_cluster: RealCluster, ca_issuer: IssuerRef, say: Any
) -> None:
    plane, namespace = cert_manager.plane, cert_manager_cluster.namespace
    missing = IssuerRef("missing", ca_issuer.kind, ca_issuer.group)
    code, out = await command(plane, missing, namespace)
    assert (code, out.count("\n")) == (2, 1)
    assert out.startswith('error: caissuers.issuers.certwright.dev "missing" not found')
    words = ["--kubeconfig", plane.kubeconfig, "--issuer", "example.com/Unknown/x"]
    code, out = await say("certwright.issuers.ca", "conformance", *words)
    assert code == 2
    assert "this cluster serves no kind Unknown in the group example.com" in out
