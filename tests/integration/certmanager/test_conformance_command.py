"""The conformance command against a shipped issuer, in a cluster that cert-manager runs in."""

import asyncio
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from certwright.api.certmanager import CertificateRequest, IssuerRef
from certwright.kube.kinds import CertificateSigningRequest
from certwright.testkit import RealCluster
from certwright.testkit.certmanager import CertManager

pytestmark = pytest.mark.timeout(180)

COMMAND = Path(sys.executable).with_name("certwright")


async def command(plane, issuer: IssuerRef, namespace: str, *words: str) -> tuple[int, str]:
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
    cert_manager: CertManager, cert_manager_cluster: RealCluster, ca_cluster_issuer, tmp_path
):
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


async def test_an_issuer_that_is_not_there_cannot_be_tested(
    cert_manager: CertManager, cert_manager_cluster: RealCluster, ca_issuer
):
    plane, namespace = cert_manager.plane, cert_manager_cluster.namespace
    missing = IssuerRef("missing", ca_issuer.kind, ca_issuer.group)
    code, out = await command(plane, missing, namespace)
    assert (code, out.count("\n")) == (2, 1)
    assert out.startswith('error: caissuers.issuers.certwright.dev "missing" not found')
    code, out = await command(plane, IssuerRef("x", "Unknown", "example.com"), namespace)
    assert code == 2
    assert "this cluster serves no kind Unknown in the group example.com" in out
