"""Whatever the real cert-manager rejects of faulty issuers, the conformance kit rejects, too."""

import asyncio
from dataclasses import dataclass
from typing import Any, cast

import pytest
from tests.component.issuer.conformance.bare import Bare
from tests.component.issuer.conformance.catalogue import item, judged
from tests.component.issuer.conformance.faulty import certificates, chains, encodings
from tests.component.issuer.conformance.sound import (
    Ed25519Root,
    OneIntermediate,
    RsaRoot,
    TwoIntermediates,
)

from certwright.api.certmanager import Certificate, IssuerRef
from certwright.issuer import Bundle, Issuer, IssuerApp, Request
from certwright.issuer.conformance.cases.case import Case
from certwright.kube import Object
from certwright.testkit import RealCluster

pytestmark = pytest.mark.timeout(180)

SECONDS = 60
ONE_NAME = cast("Case", item("CertificateRequest", "one DNS name"))
FAULTY: tuple[type[Bare], ...] = (
    certificates.AnotherKey,
    certificates.Expired,
    certificates.NotValidYet,
    certificates.NamesReplaced,
    certificates.OneNameMore,
    certificates.NamesInUpperCase,
    certificates.ADayInsteadOf90,
    certificates.AuthorityWithoutBeingAsked,
    certificates.CommonNameInvented,
    certificates.OneUsageMore,
    encodings.NoNames,
    encodings.NamesNotCritical,
    encodings.NoAuthorityKeyIdentifier,
    encodings.WeakHash,
    chains.RootInChain,
    chains.ChainTurned,
    chains.StrangerInChain,
    chains.NoCertificateAtAll,
    chains.DerInsteadOfPem,
    chains.TextCutShort,
    chains.PrivateKeyInChain,
)
SOUND: tuple[type[Bare], ...] = (Bare, RsaRoot, Ed25519Root, OneIntermediate, TwoIntermediates)
KNOWN = {one.__name__: one for one in (*FAULTY, *SOUND)}


@dataclass(frozen=True)
class Fault:
    """Which issuer this one is to be."""

    name: str


app = IssuerApp(
    group="faulty.example.com", kind="FaultyIssuer", spec=Fault, compat="upstream", set_ca=True
)
"""Compatible with upstream, so that the library lets every bundle through."""


@app.sign
def sign(request: Request, issuer: Issuer[Fault]) -> Bundle:
    return Bundle(*KNOWN[issuer.spec.name]().sign(request.csr, request.terms, request.now))


async def test_what_cert_manager_rejects_the_kit_rejects(
    cert_manager_cluster: RealCluster, run_app: Any, make_certificate: Any, ready: Any
) -> None:
    cluster = cert_manager_cluster
    resource = cast("type[Object]", app.namespaced_kind).resource
    async with run_app(app):
        await cluster.serve(*app.kinds)
        for name in KNOWN:
            kind = {"apiVersion": resource.api_version, "kind": resource.kind}
            metadata, spec = {"name": name.lower()}, {"name": name}
            await cluster.create({**kind, "metadata": metadata, "spec": spec})
            issuer = IssuerRef(name.lower(), resource.kind, resource.group)
            await make_certificate(name.lower(), issuer)
        accepted = await accepted_by_cert_manager(cluster, ready)
    assert {one.__name__.lower() for one in SOUND} <= accepted
    rejected = [one for one in FAULTY if one.__name__.lower() not in accepted]
    assert {chains.NoCertificateAtAll, certificates.AnotherKey, certificates.Expired} <= {*rejected}
    missed = [one.__name__ for one in rejected if not judged(one(), ONE_NAME)]
    assert missed == []


async def accepted_by_cert_manager(cluster: RealCluster, ready: Any) -> set[str]:
    """Wait until each Certificate is Ready or has failed; one that stays undecided is not taken."""
    taken: set[str] = set()
    async with asyncio.timeout(SECONDS + 30):
        for _ in range(SECONDS * 2):
            found = await cluster.list(Certificate)
            taken = {one.metadata.name for one in found if ready(one)}
            failed = {one.metadata.name for one in found if one.status.failed_issuance_attempts}
            if len(taken | failed) == len(KNOWN):
                break
            await asyncio.sleep(0.5)
    return taken
