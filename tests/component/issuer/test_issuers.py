"""Issuers: checked, said to be ready or not, and checked again when something changes."""

import asyncio
from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, cast

import pytest
from tests.support.issuer.issuer_world import GROUP, World

from certwright.client import Request
from certwright.issuer import Issuer, Permanent, SecretData, SecretKey
from certwright.kube import JsonObject
from certwright.kube.kinds import Secret
from certwright.testkit import Cluster, EmbeddedCluster, VirtualLoop
from certwright.testkit.faults.faults import Refuse
from certwright.testkit.faults.interference import Interference


@dataclass(frozen=True)
class SecretSpec:
    """A spec that points to Secrets."""

    token: SecretKey
    all: SecretData | None = None
    more: dict[str, SecretKey] = field(default_factory=dict)


async def secret(
    cluster: Cluster, name: str = "credentials", namespace: str = "", **data: bytes
) -> None:
    await cluster.create(
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": name, **({"namespace": namespace} if namespace else {})},
            "data": {key: b64encode(value).decode() for key, value in data.items()},
        }
    )


def ref(name: str = "credentials", key: str = "token") -> JsonObject:
    return {"name": name, "key": key}


async def make(w: "Seen", name: str = "issuer-1", *, cluster: bool = False, **spec: Any) -> None:
    """Create an issuer from plain words, as kubectl does."""
    kind = (w.cluster_kind if cluster else w.namespaced_kind).resource
    await w.cluster.install(*w.app.crds())
    await w.cluster.create(
        {
            "apiVersion": kind.api_version,
            "kind": kind.kind,
            "metadata": {"name": name},
            "spec": spec,
        }
    )


@pytest.mark.scenario("ISS-75")
async def test_a_new_issuer_says_that_it_was_seen_and_then_that_it_is_ready(
    world: Callable[..., World],
) -> None:
    w = world()
    await w.issuer()
    calls = await w.settle()
    said = await w.issuer_ready()
    assert (said.status, said.reason, said.message, said.observed_generation) == (
        "True", "Checked", "Succeeded checking the issuer", 1,
    )  # fmt: skip
    bodies = [call.body for call in calls.of("TestIssuer") if call.verb == "patch"]
    assert len(bodies) == 2
    assert f"{GROUP} has started reconciling this Issuer".encode() in (bodies[0] or b"")
    assert await w.events("issuer-1") == [("Normal", "Checked", "Succeeded checking the issuer")]


@pytest.mark.scenario("ISS-76")
async def test_failing_checks_are_repeated_ever_later(embedded_world: Callable[..., World]) -> None:
    w = embedded_world()
    w.script.checks[:] = [ValueError("one"), ValueError("two"), ValueError("two")]
    await w.issuer()
    await w.settle()
    said = await w.issuer_ready()
    assert (said.status, said.reason) == ("False", "Pending")
    assert said.message == "Not ready yet: ValueError: one"
    await w.cluster.advance(minutes=1)
    assert (await w.issuer_ready()).status == "True"
    between = [later - earlier for earlier, later in pairwise(w.script.check_times)]
    assert between == sorted(between)
    assert between[2] > between[0]
    notes = [note for _, _, note in await w.events("issuer-1")]
    assert notes == [
        "Not ready yet: ValueError: one",
        "Not ready yet: ValueError: two",
        "Succeeded checking the issuer",
    ]


@pytest.mark.scenario("ISS-77")
@pytest.mark.scenario("ISS-78")
async def test_an_issuer_that_failed_for_good_waits_for_its_spec(
    world: Callable[..., World],
) -> None:
    w = world()
    w.script.always_check = Permanent("wrong account")
    await w.issuer()
    await w.settle()
    said = await w.issuer_ready()
    assert (said.status, said.reason) == ("False", "Failed")
    assert said.message == "Failed permanently: wrong account"
    kind = w.namespaced_kind
    await w.cluster.patch(kind, "issuer-1", {"metadata": {"annotations": {"poke": "1"}}})
    calls = await w.settle()
    assert calls.writes == 0
    assert w.script.check_calls == 1
    w.script.always_check = None
    await w.cluster.patch(kind, "issuer-1", {"spec": {"url": "elsewhere"}})
    await w.settle()
    assert (await w.issuer_ready()).observed_generation == 2
    assert (await w.issuer_ready()).status == "True"


@pytest.mark.scenario("ISS-79")
async def test_ready_issuers_are_checked_every_now_and_then(
    embedded_world: Callable[..., World],
) -> None:
    w = embedded_world()
    await w.issuer()
    await w.settle()
    assert w.script.check_calls == 1
    calls = await w.cluster.advance(minutes=5, seconds=1)
    assert w.script.check_calls == 2
    assert calls.writes == 0
    w.script.always_check = ValueError("gone")
    await w.cluster.advance(minutes=6)
    assert (await w.issuer_ready()).message == "Not ready yet: ValueError: gone"


async def test_a_restart_checks_and_writes_nothing(world: Callable[..., World]) -> None:
    w = world()
    await w.issuer()
    await w.settle()
    calls = await w.cluster.restart()
    assert calls.writes == 0
    assert w.script.check_calls == 2


async def test_an_issuer_that_is_gone_is_forgotten(world: Callable[..., World]) -> None:
    w = world()
    await w.issuer()
    await w.settle()
    await w.cluster.delete(w.namespaced_kind, "issuer-1")
    calls = await w.settle()
    assert calls.writes == 0
    assert w.script.check_calls == 1


class Seen(World):
    """A world that notes what check was given."""

    def __init__(self, cluster: Cluster, **options: str) -> None:
        super().__init__(cluster, spec=SecretSpec, **options)
        self.seen: list[SecretSpec] = []

    async def _check(self, _issuer: Issuer[SecretSpec]) -> None:
        self.seen.append(_issuer.spec)
        await super()._check(_issuer)


@pytest.mark.scenario("ISS-80")
@pytest.mark.scenario("ISS-81")
@pytest.mark.scenario("ISS-83")
async def test_a_secret_is_resolved_and_watched(cluster: Cluster) -> None:
    w = Seen(cluster)
    await secret(cluster, token=b"swordfish\n", other=b"\x00\xff")
    await make(w, token=ref(), all={"name": "credentials"}, more={"x": ref(key="token")})
    await w.settle()
    [spec] = w.seen
    assert spec.token == "swordfish"
    assert spec.more == {"x": "swordfish"}
    assert spec.all is not None
    assert spec.all["other"] == b"\x00\xff"
    assert "swordfish" not in repr(spec)
    began = cluster.clock.monotonic()
    changed = b64encode(b"  opensesame ").decode()
    await cluster.patch(Secret, "credentials", {"data": {"token": changed}})
    await w.settle()
    assert w.seen[-1].token == "opensesame"
    assert cluster.clock.monotonic() - began < 1 or not isinstance(cluster, EmbeddedCluster)
    await cluster.delete(Secret, "credentials")
    await w.settle()
    said = await w.issuer_ready()
    where = f"{cluster.namespace}/credentials"
    assert (said.status, said.message) == ("False", f'Not ready yet: secret "{where}" not found')


async def test_a_corrected_secret_helps_an_issuer_that_failed_for_good(
    cluster: Cluster,
) -> None:
    w = Seen(cluster)
    w.script.checks[:] = [Permanent("token refused")]
    await secret(cluster, token=b"wrong")
    await make(w, token=ref())
    await w.settle()
    assert (await w.issuer_ready()).reason == "Failed"
    changed = b64encode(b"right").decode()
    await cluster.patch(Secret, "credentials", {"data": {"token": changed}})
    await w.settle()
    assert (await w.issuer_ready()).status == "True"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"other": b"x"}, 'has no key "token"'),
        ({"token": b"\xff"}, "is not text"),
    ],
)
async def test_an_unusable_secret_is_named(
    cluster: Cluster, data: dict[str, bytes], message: str
) -> None:
    w = Seen(cluster)
    await secret(cluster, **cast("Any", data))
    await make(w, token=ref())
    await w.settle()
    assert message in (await w.issuer_ready()).message
    assert not w.seen


async def test_secrets_are_read_once_per_version(cluster: Cluster) -> None:
    w = Seen(cluster)
    await secret(cluster, token=b"swordfish")
    await make(w, token=ref())
    await w.settle()
    for number in range(5):
        await w.request(f"cr{number}")
    calls = await w.settle()
    assert calls.reads == 0
    assert len(w.script.sign_calls) == 5
    calls = await cluster.restart()
    assert calls.of("Secret").by_verb["get"] == 1


@pytest.mark.scenario("ISS-82")
async def test_a_cluster_issuer_reads_secrets_in_one_namespace_only(
    cluster: Cluster,
) -> None:
    w = Seen(cluster, cluster_resource_namespace=cluster.namespace)
    await make(w, cluster=True, token=ref("theirs"))
    other = f"{cluster.namespace}-other"
    await cluster.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": other}})
    await secret(cluster, "theirs", namespace=other, token=b"not for us")
    await w.settle()
    assert "not found" in (await w.issuer_ready(cluster=True)).message
    await secret(cluster, "theirs", token=b"ours")
    await w.settle()
    assert w.seen[-1].token == "ours"
    assert (await w.issuer_ready(cluster=True)).status == "True"


@pytest.mark.scenario("ISS-25")
async def test_a_read_that_fails_is_an_event_and_no_status(virtual: VirtualLoop) -> None:
    class SecretsRefused:
        """Refuses to show Secrets as long as it is told to."""

        active = False

        def on_request(self, request: Request, _number: int, _write: int) -> Refuse | None:
            kind = request.resource.kind if request.resource else ""
            return (
                Refuse(500) if self.active and (request.verb, kind) == ("get", "Secret") else None
            )

        def on_event(self, _number: int) -> None:
            return None

        def latency(self) -> float:
            return 0.0

    plan = SecretsRefused()
    interference = Interference(plan, virtual.trace, virtual.clock.jump)
    async with EmbeddedCluster(interference=interference) as cluster:
        w = Seen(cluster)
        await secret(cluster, token=b"swordfish")
        await make(w, token=ref())
        await w.settle()
        plan.active = True
        changed = b64encode(b"opensesame").decode()
        await cluster.patch(Secret, "credentials", {"data": {"token": changed}})
        await w.request()
        await asyncio.sleep(20)
        note = "Got an unexpected error while processing the CertificateRequest"
        assert await w.events() == [("Warning", "UnexpectedError", note)]
        assert await w.ready() is None
        assert not w.script.sign_calls
        plan.active = False
        await cluster.advance(minutes=5)
        assert (await w.ready()).reason == "Issued"
        assert len(w.script.sign_calls) == 1
