"""Nobody waits for something that has happened already."""

from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from tests.support.issuer.issuer_world import World

from certwright.api.certmanager import CertificateRequest
from certwright.client import Request
from certwright.issuer import IssuerUnavailable, Permanent, SecretKey
from certwright.issuer import Request as SigningRequest
from certwright.kube import ObjectMeta
from certwright.kube.kinds import Secret
from certwright.testkit import Cluster, EmbeddedCluster, VirtualLoop
from certwright.testkit.faults.faults import Refuse
from certwright.testkit.faults.interference import Interference


@dataclass(frozen=True)
class TokenSpec:
    """A spec that points to a Secret."""

    token: SecretKey


class StatusRefused:
    """Refuses the next writes of an issuer's status, as often as it is told to."""

    def __init__(self, code: int) -> None:
        self.code, self.left = code, 0

    def on_request(self, request: Request, _number: int, _write: int) -> Refuse | None:
        kind = request.resource.kind if request.resource else ""
        if not self.left or (request.verb, kind) != ("patch", "TestIssuer"):
            return None
        self.left -= 1
        return Refuse(self.code)

    def on_event(self, _number: int) -> None:
        return None

    def latency(self) -> float:
        return 0.0


@pytest.mark.parametrize("code", [409, 500])
async def test_what_a_request_reported_survives_a_failed_write(
    virtual: VirtualLoop, code: int
) -> None:
    plan = StatusRefused(code)
    interference = Interference(plan, virtual.trace, virtual.clock.jump)
    async with EmbeddedCluster(interference=interference) as cluster:
        w = World(cluster)
        await w.issuer()
        await w.settle()
        plan.left = 1
        w.script.signs[:] = [IssuerUnavailable("token refused")]
        await w.request()
        await cluster.advance(minutes=2)
        assert plan.left == 0
        assert (await w.ready()).reason == "Issued"
        reasons = [reason for _, reason, _ in await w.events("issuer-1")]
        assert "RetryableError" in reasons


async def test_what_a_request_reported_survives_a_hook_that_fails(
    embedded_world: Callable[..., World],
) -> None:
    w = embedded_world()
    trouble: list[Any] = []

    @w.app.ignore_issuer
    def ignored(_metadata: ObjectMeta) -> bool:
        if trouble and w.script.sign_calls:
            raise trouble.pop()
        return False

    await w.issuer()
    await w.settle()
    trouble.append(OSError("down"))
    w.script.signs[:] = [IssuerUnavailable("token refused")]
    await w.request()
    await w.cluster.advance(minutes=1)
    assert not trouble
    assert (await w.ready()).reason == "Issued"
    assert "RetryableError" in [reason for _, reason, _ in await w.events("issuer-1")]


async def test_a_corrected_secret_helps_after_a_restart_too(
    cluster: Cluster,
) -> None:
    w = World(cluster, spec=TokenSpec)
    w.script.checks[:] = [Permanent("token refused")]
    await cluster.create(
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "credentials"},
            "stringData": {"token": "wrong"},
        }
    )
    kind = w.namespaced_kind.resource
    await cluster.install(*w.app.crds())
    await cluster.create(
        {
            "apiVersion": kind.api_version,
            "kind": kind.kind,
            "metadata": {"name": "issuer-1"},
            "spec": {"token": {"name": "credentials", "key": "token"}},
        }
    )
    await w.settle()
    await cluster.restart()
    assert (await w.issuer_ready()).reason == "Failed"
    changed = b64encode(b"right").decode()
    await cluster.patch(Secret, "credentials", {"data": {"token": changed}})
    await w.settle()
    assert (await w.issuer_ready()).status == "True"


@pytest.mark.parametrize("where", ["labels", "annotations"])
async def test_requests_notice_that_their_issuer_is_ours_now(
    world: Callable[..., World], where: str
) -> None:
    w = world()
    kind = w.namespaced_kind

    @w.app.ignore_issuer
    def foreign(metadata: ObjectMeta) -> bool:
        value: bool = getattr(metadata, where).get("class") == "theirs"
        return value

    await w.issuer()
    await w.settle()
    assert (await w.issuer_ready()).status == "True"
    await w.cluster.patch(kind, "issuer-1", {"metadata": {where: {"class": "theirs"}}})
    await w.settle()
    await w.request()
    await w.settle()
    assert await w.ready() is None
    await w.cluster.patch(kind, "issuer-1", {"metadata": {where: {"class": None}}})
    await w.settle()
    assert (await w.ready()).reason == "Issued"


async def test_a_new_issuer_notices_that_it_is_ours_now(world: Callable[..., World]) -> None:
    w = world()

    @w.app.ignore_issuer
    def foreign(metadata: ObjectMeta) -> bool:
        return metadata.labels.get("class") != "ours"

    await w.issuer()
    await w.settle()
    assert await w.issuer_ready() is None
    patch = {"metadata": {"labels": {"class": "ours"}}}
    await w.cluster.patch(w.namespaced_kind, "issuer-1", patch)
    await w.settle()
    assert (await w.issuer_ready()).status == "True"


@pytest.mark.parametrize("where", ["labels", "annotations"])
async def test_a_request_notices_that_it_is_ours_now(
    world: Callable[..., World], where: str
) -> None:
    w = world()

    @w.app.ignore_request
    def foreign(request: SigningRequest) -> bool:
        value: bool = getattr(request, where).get("class") != "ours"
        return value

    await w.issuer()
    await w.request()
    await w.settle()
    assert await w.ready() is None
    await w.cluster.patch(CertificateRequest, "cr1", {"metadata": {where: {"class": "ours"}}})
    await w.settle()
    assert (await w.ready()).reason == "Issued"


async def test_nobody_is_told_about_a_request_that_is_not_ours(
    embedded_world: Callable[..., World],
) -> None:
    w = embedded_world()
    w.app.ignore_request(lambda _request: True)
    await w.issuer()
    await w.request(approve=False)
    await w.settle()
    await w.cluster.advance(minutes=2)
    assert await w.events() == []
