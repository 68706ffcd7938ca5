"""Kubernetes' own signing requests."""

from base64 import b64encode
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any, cast

import pytest
from structlog.testing import capture_logs
from tests.support.issuer.issuer_world import GROUP, World, csr_pem
from tests.support.waits import until_allowed

from certwright import pki
from certwright.api.certificates import CertificateSigningRequest
from certwright.client import Client, Request, Response, Transport
from certwright.issuer import Permanent, WithCondition
from certwright.kube import JsonObject
from certwright.kube.kinds import ClusterRole, ClusterRoleBinding, Event
from certwright.testkit import EmbeddedCluster, RealCluster, VirtualLoop

CLUSTER_SIGNER = f"testclusterissuers.{GROUP}"
CSR = CertificateSigningRequest.resource


async def ask(
    w: World,
    signer: str = f"{CLUSTER_SIGNER}/issuer-1",
    *,
    name: str = "",
    decide: str = "Approved",
    annotations: dict[str, str] | None = None,
    usages: list[str] | tuple[str, str] = ("digital signature", "key encipherment"),
    csr: bytes = b"",
    **spec: int,
) -> str:
    """Create a signing request and decide about it; return its name."""
    name = name or f"csr-{w.cluster.namespace}"
    await w.cluster.create(
        {
            "apiVersion": CSR.api_version,
            "kind": CSR.kind,
            "metadata": {"name": name, "annotations": annotations or {}},
            "spec": {
                "request": b64encode(csr or csr_pem()).decode(),
                "signerName": signer,
                "usages": list(usages),
                **spec,
            },
        }
    )
    if decide:
        await approve(w, name, decide)
    return name


async def approve(w: World, name: str, decision: str = "Approved") -> None:
    """Decide about a signing request."""
    found = await w.cluster.get(CSR, name)
    condition = {"type": decision, "status": "True", "reason": "Tested", "message": "by a test"}
    found["status"] = {**found.get("status", {}), "conditions": [condition]}
    await w.cluster.client.update(found, subresource="approval")


@pytest.fixture
async def asked(world: Callable[..., World]) -> AsyncIterator[Callable[..., Awaitable[Any]]]:
    """Return what makes a world with ready issuers, and remove the signing requests after."""
    made = []

    async def make(**options: Any) -> World:
        w = world(**options)
        made.append(w)
        await w.issuer(cluster=True)
        await w.issuer()
        await w.settle()
        return w

    yield make
    for w in made:
        name = f"csr-{w.cluster.namespace}"
        if await w.cluster.find(CSR, name):
            await w.cluster.delete(CSR, name)
        if await w.cluster.find(w.cluster_kind.resource, "issuer-1"):
            await w.cluster.delete(w.cluster_kind, "issuer-1")


@pytest.mark.scenario("ISS-100")
@pytest.mark.parametrize("compat", ["v1", "upstream"])
async def test_a_signing_request_of_another_curve_for_an_hour(
    asked: Callable[..., Awaitable[Any]], compat: str
) -> None:
    w = await asked(compat=compat)
    key = pki.generate_key(pki.KeySpec(pki.KeyAlgorithm.ECDSA, 521))
    hour = {"experimental.cert-manager.io/request-duration": "1h"}
    name = await ask(w, csr=csr_pem(key=key), annotations=hour, usages=["digital signature"])
    await w.settle()
    leaf = pki.read_chain(await certificate(w, name)).leaf
    pki.check_key_pair(leaf, key)
    validity = pki.Validity.of(leaf)
    assert abs(validity.not_after - validity.not_before - timedelta(hours=1)) < timedelta(minutes=6)
    assert not await conditions(w, name)


@pytest.mark.scenario("ISS-100")
@pytest.mark.parametrize("compat", ["v1", "upstream"])
async def test_a_signing_request_that_is_gone_is_left_alone(
    asked: Callable[..., Awaitable[Any]], compat: str
) -> None:
    w = await asked(compat=compat)
    name = await ask(w, decide="")
    await w.settle()
    await w.cluster.delete(CSR, name)
    calls = await w.settle()
    assert (calls.reads, calls.writes) == (0, 0)
    assert await events(w, name) == []
    assert not w.script.sign_calls


async def conditions(w: World, name: str) -> JsonObject:
    found = await w.cluster.get(CertificateSigningRequest, name)
    return {one.type: one for one in found.status.conditions if one.type != "Approved"}


async def certificate(w: World, name: str) -> bytes:
    found: CertificateSigningRequest = await w.cluster.get(CertificateSigningRequest, name)
    return found.status.certificate


async def events(w: World, name: str) -> list[tuple[str, str, str]]:
    found = (await w.cluster.client.list(Event, "default")).items
    about = [one for one in found if one["regarding"]["name"] == name]
    return [(one["type"], one["reason"], one["note"]) for one in about]


@pytest.mark.scenario("ISS-84")
@pytest.mark.scenario("ISS-64")
async def test_an_approved_signing_request_gets_its_certificate_and_no_condition(
    asked: Callable[..., Awaitable[Any]],
) -> None:
    w = await asked()
    await w.issuer("my.name", cluster=True)
    await w.settle()
    name = await ask(w, f"{CLUSTER_SIGNER}/my.name")
    calls = await w.settle()
    assert not await conditions(w, name)
    pki.check_key_pair(pki.read_chain(await certificate(w, name)).leaf, w.key)
    assert calls.of("CertificateSigningRequest").writes == 1
    assert calls.reads == 0
    issued = ("Normal", "Issued", "Succeeded signing the CertificateSigningRequest")
    assert await events(w, name) == [issued]
    assert w.script.sign_calls[0].username
    await w.cluster.delete(w.cluster_kind, "my.name")


@pytest.mark.scenario("ISS-85")
@pytest.mark.parametrize("compat", ["v1", "upstream"])
async def test_a_kind_that_does_not_answer_says_so(
    asked: Callable[..., Awaitable[Any]], compat: str
) -> None:
    w = await asked(compat=compat)
    with capture_logs() as lines:
        name = await ask(w, f"testissuers.{GROUP}/{w.cluster.namespace}.issuer-1")
        calls = await w.settle()
    assert calls.of("CertificateSigningRequest").writes == 0
    assert not w.script.sign_calls
    told = await events(w, name)
    logged = [line for line in lines if "does not answer" in line["event"]]
    if compat == "upstream":
        assert (told, logged) == ([], [])
        return
    [(type_, reason, note)] = told
    assert (type_, reason) == ("Warning", "KindNotServed")
    assert note.startswith("TestIssuer is a namespaced kind and does not answer")
    assert len(logged) == 1
    await w.cluster.patch(CSR, name, {"metadata": {"annotations": {"poke": "1"}}})
    calls = await w.settle()
    assert calls.writes == 0, "the same is not told twice"


@pytest.mark.scenario("ISS-88")
@pytest.mark.parametrize(
    ("signer", "decide"),
    [
        pytest.param("example.com/unrelated", "Approved", id="somebody else's"),
        pytest.param(f"{CLUSTER_SIGNER}/issuer-1", "", id="nobody decided"),
        pytest.param(
            f"{CLUSTER_SIGNER}/issuer-1",
            "Denied",
            id="denied",
            marks=pytest.mark.scenario("ISS-89"),
        ),
    ],
)
async def test_signing_requests_that_are_not_ours_to_sign(
    asked: Callable[..., Awaitable[Any]], signer: str, decide: str
) -> None:
    w = await asked()
    name = await ask(w, signer.format(namespace=w.cluster.namespace), decide=decide)
    calls = await w.settle()
    assert calls.writes == 0
    assert not w.script.sign_calls
    assert await certificate(w, name) == b""


@pytest.mark.scenario("ISS-89")
@pytest.mark.scenario("ISS-90")
async def test_a_permanent_error_is_a_failed_condition(
    asked: Callable[..., Awaitable[Any]],
) -> None:
    w = await asked()
    w.script.always_sign = Permanent("never")
    name = await ask(w)
    await w.settle()
    failed = (await conditions(w, name))["Failed"]
    assert (failed.status, failed.reason) == ("True", "Failed")
    assert failed.message == "CertificateSigningRequest has failed permanently: never"
    assert failed.last_update_time is not None
    assert failed.last_transition_time is not None
    await w.cluster.patch(CSR, name, {"metadata": {"annotations": {"poke": "1"}}})
    calls = await w.settle()
    assert calls.writes == 0
    assert len(w.script.sign_calls) == 1


@pytest.mark.scenario("ISS-91")
async def test_waiting_is_told_by_an_event_only(asked: Callable[..., Awaitable[Any]]) -> None:
    w = await asked()
    name = await ask(w, f"{CLUSTER_SIGNER}/absent")
    calls = await w.settle()
    assert calls.of("CertificateSigningRequest").writes == 0
    assert not await conditions(w, name)
    note = f'testclusterissuers.{GROUP} "absent" not found. Waiting for it to be created.'
    assert await events(w, name) == [("Normal", "WaitingForIssuerExist", note)]
    await w.cluster.patch(CSR, name, {"metadata": {"annotations": {"poke": "1"}}})
    calls = await w.settle()
    assert calls.writes == 0, "the same is not told twice"


DURATION = "experimental.cert-manager.io/request-duration"


@pytest.mark.scenario("ISS-92")
@pytest.mark.parametrize(
    ("text", "reason"), [("bogus", "ErrorParseDuration"), ("300s", "InvalidDuration")]
)
async def test_durations_that_cannot_be(
    asked: Callable[..., Awaitable[Any]], text: str, reason: str
) -> None:
    w = await asked()
    name = await ask(w, annotations={DURATION: text})
    await w.settle()
    assert (await conditions(w, name))["Failed"].reason == reason
    assert not w.script.sign_calls


@pytest.mark.scenario("ISS-93")
@pytest.mark.parametrize(
    ("options", "annotation", "seconds", "granted"),
    [
        ({}, "30m", 3600, timedelta(minutes=30)),
        ({}, "896h", 3600, timedelta(hours=1)),
        ({"csr_annotations": True}, "896h", 3600, timedelta(hours=1)),
        ({"compat": "upstream"}, "896h", 3600, timedelta(hours=896)),
        ({}, "896h", None, timedelta(hours=896)),
        ({"csr_annotations": True}, "10000h", None, timedelta(hours=10_000)),
    ],
    ids=["shorter", "bounded", "bounded though allowed", "upstream", "usual", "allowed"],
)
async def test_the_annotation_decides_about_the_duration_up_to_that_of_the_spec(
    asked: Callable[..., Awaitable[Any]],
    options: dict[str, Any],
    annotation: str,
    seconds: int | None,
    granted: timedelta,
) -> None:
    w = await asked(**options)
    spec: Any = {} if seconds is None else {"expirationSeconds": seconds}
    await ask(w, annotations={DURATION: annotation}, **spec)
    await w.settle()
    assert w.script.sign_calls[0].duration == granted


IS_CA = "experimental.cert-manager.io/request-is-ca"


@pytest.mark.parametrize("annotations", [{DURATION: "10000h"}, {IS_CA: "true"}], ids=str)
async def test_annotations_get_no_more_than_the_spec_unless_the_app_allows_it(
    asked: Callable[..., Awaitable[Any]], annotations: dict[str, str]
) -> None:
    """An annotation can be set after the request was approved."""
    w = await asked()
    name = await ask(w, annotations=annotations)
    await w.settle()
    failed = (await conditions(w, name))["Failed"]
    assert failed.reason == "AnnotationNotAllowed"
    assert next(iter(annotations)) in failed.message
    assert not w.script.sign_calls


@pytest.mark.scenario("ISS-64")
async def test_is_ca_adds_no_usage(asked: Callable[..., Awaitable[Any]]) -> None:
    w = await asked(csr_annotations=True)
    annotations = {IS_CA: "true"}
    await ask(w, annotations=annotations, usages=["digital signature"], csr=csr_pem(is_ca=True))
    await w.settle()
    [request] = w.script.sign_calls
    assert request.is_ca
    assert request.usages.key_words() == ["digital signature"]


async def test_conditions_of_the_authors_own(asked: Callable[..., Awaitable[Any]]) -> None:
    w = await asked()
    w.script.signs[:] = [WithCondition("QuotaOk", "False", "TooMany", ValueError("later"))]
    name = await ask(w)
    await w.settle()
    held = (await conditions(w, name))["QuotaOk"]
    assert (held.status, held.reason, held.message) == ("False", "TooMany", "later")
    assert await certificate(w, name), "its own change woke it"


class Acting:
    """A transport that asks the server to treat every request as somebody else's."""

    def __init__(self, inner: Transport, user: str) -> None:
        self._inner = inner
        self._headers = (("Impersonate-User", user), ("Impersonate-Group", "system:authenticated"))

    async def send(self, request: Request) -> Response:
        return await self._inner.send(replace(request, headers=request.headers + self._headers))

    async def close(self) -> None:
        await self._inner.close()


async def allow(w: World, name: str, user: str, kind: str, **rule: Any) -> None:
    """Bind a user to a role of one rule, in the namespace or cluster-wide."""
    group = "rbac.authorization.k8s.io"
    await w.cluster.create(
        {
            "apiVersion": f"{group}/v1",
            "kind": kind,
            "metadata": {"name": name},
            "rules": [rule],
        }
    )
    await w.cluster.create(
        {
            "apiVersion": f"{group}/v1",
            "kind": f"{kind}Binding",
            "metadata": {"name": name},
            "roleRef": {"apiGroup": group, "kind": kind, "name": name},
            "subjects": [{"apiGroup": group, "kind": "User", "name": user}],
        }
    )
    where = w.cluster.namespace if kind == "Role" else ""
    await until_allowed(w.cluster.client, user, where, [rule])


@pytest.mark.scenario("ISS-86")
@pytest.mark.scenario("ISS-87")
async def test_namespaced_issuers_are_for_those_who_may_refer_to_them(virtual: VirtualLoop) -> None:
    assert virtual is not None
    async with EmbeddedCluster(rbac=True) as cluster:
        await check_references(World(cluster, namespaced_csrs=True))


@pytest.mark.scenario("ISS-86")
@pytest.mark.scenario("ISS-87")
async def test_namespaced_issuers_on_the_real_control_plane(
    real_cluster: RealCluster,
) -> None:
    w = World(real_cluster, namespaced_csrs=True)
    try:
        await check_references(w)
    finally:
        name = real_cluster.namespace
        await real_cluster.delete(CSR, f"csr-{name}")
        await real_cluster.delete(ClusterRole, f"ask-{name}")
        await real_cluster.delete(ClusterRoleBinding, f"ask-{name}")


async def check_references(w: World) -> None:
    """Ask for the issuer of a namespace without the right to, then with it."""
    await w.issuer()
    await w.settle()
    namespace = w.cluster.namespace
    user, signer = f"alice-{namespace}", f"testissuers.{GROUP}/{namespace}.issuer-1"
    await allow(
        w, f"ask-{namespace}", user, "ClusterRole",
        apiGroups=["certificates.k8s.io"], resources=["certificatesigningrequests"], verbs=["create"],
    )  # fmt: skip
    admin = w.cluster.client
    async with Client(
        cast("Any", Acting(w.cluster._transport(), user)), clock=w.cluster.clock
    ) as alice:
        w.cluster.client = alice
        try:
            name = await ask(w, signer, decide="")
        finally:
            w.cluster.client = admin
    await approve(w, name)
    await w.settle()
    failed = (await conditions(w, name))["Failed"]
    assert failed.reason == "DeniedReference"
    text = f"Requester may not reference Namespaced Issuer {namespace}/issuer-1"
    assert text in failed.message
    assert not w.script.sign_calls
    await w.cluster.delete(CSR, name)
    await allow(
        w, "refer", user, "Role",
        apiGroups=["cert-manager.io"], resources=["signers"], verbs=["reference"],
        resourceNames=["issuer-1"],
    )  # fmt: skip
    async with Client(
        cast("Any", Acting(w.cluster._transport(), user)), clock=w.cluster.clock
    ) as alice:
        w.cluster.client = alice
        try:
            name = await ask(w, signer, decide="")
        finally:
            w.cluster.client = admin
    await approve(w, name)
    await w.settle()
    assert await certificate(w, name)
    assert w.script.sign_calls[0].username == user
