"""A world with an issuer in it: requests are made, approved and answered."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import msgspec

from certwright import pki
from certwright.api.certmanager import (
    CertificateRequest,
    CertificateRequestSpec,
    IssuerRef,
)
from certwright.issuer import Bundle, Issuer, IssuerApp, Request
from certwright.kube import (
    JsonObject,
    Object,
    ObjectMeta,
    crd_manifest,
    find_condition,
    format_time,
)
from certwright.kube.kinds import Event
from certwright.testkit import Calls, Cluster

GROUP = "testing.certwright.dev"
KEY = pki.generate_key(pki.KeySpec(pki.KeyAlgorithm.ECDSA))
ISSUER_1 = IssuerRef("issuer-1", "TestIssuer", GROUP)
CA_KEY = pki.generate_key(pki.KeySpec(pki.KeyAlgorithm.ECDSA))


@dataclass(frozen=True)
class Spec:
    """What the issuers of these tests can be told."""

    url: str = ""


@dataclass
class Script:
    """What sign and check do, call by call, and then always. Notes the calls."""

    signs: list[Exception | Bundle | None] = field(default_factory=list)
    always_sign: Exception | Bundle | None = None
    checks: list[Exception | None] = field(default_factory=list)
    always_check: Exception | None = None
    sign_calls: list[Request] = field(default_factory=list)
    sign_times: list[float] = field(default_factory=list)
    check_calls: int = 0
    check_times: list[float] = field(default_factory=list)


def csr_pem(name: str = "web.example.com", *, key: pki.PrivateKey = KEY, **options: Any) -> bytes:
    """Return a signing request for a name."""
    names = pki.AlternativeNames.of_hosts(name)
    return pki.write_request(pki.build_request(key, pki.parse_name(f"CN={name}"), names, **options))


CSR = csr_pem()


class World:
    """An app with one authority behind it, on a cluster."""

    def __init__(self, cluster: Cluster, *, spec: type[Any] = Spec, **options: Any) -> None:
        self.cluster: Any = cluster  # tests on the embedded one advance its time
        self.script = Script()
        self.key = KEY
        self._served = False
        now = cluster.clock.now()
        name = pki.parse_name("CN=Test CA")
        self.ca = pki.create_root(name, CA_KEY, timedelta(days=3650), now)
        self.app: IssuerApp[Any] = IssuerApp(group=GROUP, kind="TestIssuer", spec=spec, **options)
        self.app.check(every=timedelta(minutes=5))(self._check)
        self.app.sign(self._sign)

    @property
    def namespaced_kind(self) -> type[Object]:
        """The kind of issuers in a namespace."""
        assert self.app.namespaced_kind is not None
        return self.app.namespaced_kind

    @property
    def cluster_kind(self) -> type[Object]:
        """The kind of issuers of the whole cluster."""
        assert self.app.cluster_kind is not None
        return self.app.cluster_kind

    async def _check(self, _issuer: Issuer[Any]) -> None:
        self.script.check_calls += 1
        self.script.check_times.append(self.cluster.clock.monotonic())
        script = self.script
        step = script.checks.pop(0) if script.checks else script.always_check
        if step is not None:
            raise step

    async def _sign(self, request: Request, _issuer: Issuer[Any]) -> Bundle:
        self.script.sign_calls.append(request)
        self.script.sign_times.append(self.cluster.clock.monotonic())
        script = self.script
        step = script.signs.pop(0) if script.signs else script.always_sign
        if isinstance(step, Exception):
            raise step
        return step or await request.sign_with(self.ca)

    # What people do

    async def settle(self) -> Calls:
        """Let the app work until it rests."""
        await self._serve_requests()
        calls: Calls = await self.cluster.settle(self.app.operator)
        return calls

    async def _serve_requests(self) -> None:
        """Have the cluster know CertificateRequests, by our definition: it allows nonsense."""
        if not self._served:
            self._served = True
            await self.cluster.provide(crd_manifest(CertificateRequest))

    async def issuer(self, name: str = "issuer-1", *, cluster: bool = False, **spec: Any) -> None:
        """Create an issuer."""
        kind: Any = self.cluster_kind if cluster else self.namespaced_kind
        await self.cluster.create(
            kind(metadata=ObjectMeta(name=name), spec=self.app.spec.wire(**spec))
        )

    async def request(
        self,
        name: str = "cr1",
        *,
        issuer: IssuerRef = ISSUER_1,
        csr: bytes = b"",
        approve: bool = True,
        annotations: dict[str, str] | None = None,
        **spec: Any,
    ) -> None:
        """Create a CertificateRequest and have it approved."""
        metadata = ObjectMeta(name=name, annotations=annotations or {})
        wanted = CertificateRequestSpec(request=csr or CSR, issuer_ref=issuer, **spec)
        await self._serve_requests()
        made = CertificateRequest(metadata=metadata, spec=wanted)
        kind = {"apiVersion": "cert-manager.io/v1", "kind": "CertificateRequest"}
        await self.cluster.create({**msgspec.to_builtins(made), **kind})
        if approve:
            await self.condition(name, "Approved")

    async def issued_before(self, name: str, *, like: JsonObject) -> None:
        """Create a request that was issued long ago, in the app's name."""
        metadata = {"name": name, "namespace": self.cluster.namespace}
        copy = {**like, "metadata": metadata}
        await self.cluster.create({field: copy[field] for field in copy if field != "status"})
        await self.cluster.client.apply(
            {field: copy[field] for field in copy if field != "spec"},
            subresource="status",
            field_manager=GROUP,
        )

    async def condition(
        self, name: str, type_: str, status: str = "True", reason: str = "Tested"
    ) -> None:
        """Set a condition on a request, as somebody else."""
        now = format_time(self.cluster.clock.now())
        condition = {
            "type": type_,
            "status": status,
            "reason": reason,
            "message": "by a test",
            "lastTransitionTime": now,
        }
        key = self.cluster.key(CertificateRequest, name)
        await self.cluster.client.apply(
            {
                "apiVersion": "cert-manager.io/v1",
                "kind": "CertificateRequest",
                "metadata": {"name": key.name, "namespace": key.namespace},
                "status": {"conditions": [condition]},
            },
            subresource="status",
            field_manager=f"test-{type_}".lower(),
        )

    async def ready(self, name: str = "cr1") -> Any:
        """Return what a request says about itself: a condition, or None."""
        found = await self.cluster.get(CertificateRequest, name)
        return find_condition(found.status.conditions, "Ready")

    async def issuer_ready(self, name: str = "issuer-1", *, cluster: bool = False) -> Any:
        """Return what an issuer says about itself."""
        kind = self.app.cluster_kind if cluster else self.app.namespaced_kind
        assert kind is not None
        found: Any = await self.cluster.get(kind, name)
        return next((one for one in found.status.conditions if one.type == "Ready"), None)

    async def events(self, name: str = "cr1") -> list[tuple[str, str, str]]:
        """Return the events about an object, oldest first: type, reason, note."""
        found: Sequence[JsonObject] = await self.cluster.list(Event)
        about = [one for one in found if one["regarding"]["name"] == name]
        about.sort(key=lambda one: one["eventTime"])
        return [(one["type"], one["reason"], one["note"]) for one in about]
