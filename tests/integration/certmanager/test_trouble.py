"""What cert-manager says about a Certificate whose issuer is in trouble, and who is asking."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any, cast

import pytest

from certwright import pki
from certwright.api.certmanager import Certificate, CertificateRequest, IssuerRef
from certwright.client import connect
from certwright.clock import SYSTEM
from certwright.issuer import Bundle, Issuer, IssuerApp, Permanent, Request
from certwright.kube import Object, find_condition
from certwright.testkit import RealCluster
from certwright.testkit.certmanager import CertManager

pytestmark = pytest.mark.timeout(120)


@dataclass(frozen=True)
class Nothing:
    """Nothing to be set."""


KEY = pki.generate_key(pki.KeySpec())
ROOT = pki.create_root(pki.distinguished_name("trouble"), KEY, timedelta(days=3), SYSTEM.now())


def condition(obj: Any, type_: Any) -> Any:
    return find_condition(obj.status.conditions, type_)


async def make_issuer(cluster: RealCluster, app: IssuerApp[Any]) -> IssuerRef:
    await cluster.serve(*app.kinds)
    resource = cast("type[Object]", app.namespaced_kind).resource
    await cluster.create(
        {
            "apiVersion": f"{resource.group}/{resource.version}",
            "kind": resource.kind,
            "metadata": {"name": "troubled"},
            "spec": {},
        }
    )
    return IssuerRef("troubled", resource.kind, resource.group)


def has_failed(certificate: Certificate) -> bool:
    """Whether two controllers have told: one that it failed, another that it is not ready."""
    tried = certificate.status.failed_issuance_attempts == 1
    return tried and condition(certificate, "Ready") is not None


async def test_a_refusal_is_told_by_the_certificate(
    cert_manager_cluster: RealCluster, run_app: Any, make_certificate: Any, until: Any
) -> None:
    app = IssuerApp(group="refusing.example.com", kind="RefusingIssuer", spec=Nothing)

    @app.sign
    def sign(request: Request, issuer: Issuer[Nothing]) -> Bundle:
        raise Permanent("names of this kind are never signed")

    async with run_app(app):
        issuer = await make_issuer(cert_manager_cluster, app)
        await make_certificate("refused", issuer)
        failed = await until(Certificate, "refused", has_failed)
    issuing, ready = condition(failed, "Issuing"), condition(failed, "Ready")
    assert (issuing.status, issuing.reason) == ("False", "Failed")
    assert "names of this kind are never signed" in issuing.message
    assert ready.status == "False"
    (request,) = await cert_manager_cluster.list(CertificateRequest)
    assert request.status.failure_time is not None
    assert condition(request, "Ready").reason == "Failed"


async def test_a_certificate_for_another_key_never_reaches_the_secret(
    cert_manager_cluster: RealCluster, run_app: Any, make_certificate: Any, until: Any
) -> None:
    """The library refuses it; were it to let it pass, as upstream's does, cert-manager would."""
    app = IssuerApp(
        group="careless.example.com", kind="CarelessIssuer", spec=Nothing, compat="upstream"
    )

    @app.sign
    def sign(request: Request, issuer: Issuer[Nothing]) -> Bundle:
        other = pki.generate_key(pki.KeySpec()).public_key()
        template = pki.server_template(
            request.csr.subject, other, timedelta(hours=1), request.names
        )
        return Bundle(ROOT.write_chain(ROOT.issue(template, request.now)))

    async with run_app(app):
        issuer = await make_issuer(cert_manager_cluster, app)
        await make_certificate("careless", issuer)
        failed = await until(Certificate, "careless", has_failed)
    assert condition(failed, "Issuing").reason == "InvalidCertificate"


async def test_an_issuer_that_is_not_ready_is_waited_for(
    cert_manager_cluster: RealCluster, run_app: Any, make_certificate: Any, until: Any
) -> None:
    app = IssuerApp(group="sleepy.example.com", kind="SleepyIssuer", spec=Nothing)

    @app.check()
    def check(issuer: Issuer[Nothing]) -> None:
        raise RuntimeError("the authority sleeps")

    @app.sign
    async def sign(request: Request, issuer: Issuer[Nothing]) -> Bundle:
        return await request.sign_with(ROOT)

    async with run_app(app):
        issuer = await make_issuer(cert_manager_cluster, app)
        await make_certificate("patient", issuer)
        request = await until(CertificateRequest, "patient-1", sleeps)
        certificate = await cert_manager_cluster.get(Certificate, "patient")
    assert condition(request, "Ready").reason == "Pending"
    assert condition(certificate, "Issuing").status == "True"
    assert not certificate.status.failed_issuance_attempts


def sleeps(request: CertificateRequest) -> bool:
    found = condition(request, "Ready")
    return found is not None and "the authority sleeps" in found.message


async def test_sign_learns_who_asks(
    cert_manager: CertManager, cert_manager_cluster: RealCluster, run_app: Any, make_certificate: Any, until: Any,
    ready: Any, make_request: Any,
) -> None:  # fmt: skip
    """cert-manager's webhook writes it into the request; nobody else can."""
    app = IssuerApp(group="curious.example.com", kind="CuriousIssuer", spec=Nothing)
    asked: dict[str, Request] = {}

    @app.sign
    async def sign(request: Request, issuer: Issuer[Nothing]) -> Bundle:
        asked[request.name] = request
        return await request.sign_with(ROOT)

    cluster, user = cert_manager_cluster, cert_manager.plane.kubeconfig_for("alice", ["shop"])
    await let_create(cluster, "alice")
    async with run_app(app), connect(kubeconfig=user) as alice:
        issuer = await make_issuer(cluster, app)
        await make_certificate("robot", issuer)
        await until(Certificate, "robot", ready)
        await make_request("person", issuer, alice)
        await until(CertificateRequest, "person", lambda one: one.status.certificate)
    robot, person = asked["robot-1"], asked["person"]
    assert robot.username == "system:serviceaccount:cert-manager:cert-manager"
    assert "system:serviceaccounts:cert-manager" in robot.groups
    assert (robot.certificate_name, robot.revision) == ("robot", 1)
    assert person.username == "alice"
    assert "shop" in person.groups
    assert person.certificate_name == ""


async def let_create(cluster: RealCluster, user: str) -> None:
    """Let a user create requests in the test's namespace."""
    api = "rbac.authorization.k8s.io"
    meta = {"apiVersion": f"{api}/v1", "metadata": {"name": "creates-requests"}}
    rule = {
        "apiGroups": ["cert-manager.io"],
        "resources": ["certificaterequests"],
        "verbs": ["create"],
    }
    bound = {"apiGroup": api, "kind": "Role", "name": "creates-requests"}
    subject = {"apiGroup": api, "kind": "User", "name": user}
    await cluster.create({**meta, "kind": "Role", "rules": [rule]})
    await cluster.create({**meta, "kind": "RoleBinding", "roleRef": bound, "subjects": [subject]})
