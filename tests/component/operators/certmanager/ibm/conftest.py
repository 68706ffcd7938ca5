"""CertManagers on the embedded server, where cert-manager is played.

::

    @pytest.mark.scenario("CM-28")
    async def test_installs(ibm):
        await ibm.declare()
        await ibm.until_ready()
        assert await ibm.find(Deployment, "cert-manager/cert-manager-controller")

Time is virtual.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from typing import Any

import orjson
import pytest
from tests.component.operators.certmanager.conftest import VERSIONS, packed

from certwright.api.certmanagers import CertManagerInstallation
from certwright.apply import ObjectRef
from certwright.bundles.catalogue import load
from certwright.bundles.sources import BundleSet, PackedBundle
from certwright.client import Client, Request, Response, Stream, Transport
from certwright.kube import (
    Forbidden,
    JsonObject,
    NotFound,
    Object,
    Resource,
    ServiceUnavailable,
    crd_manifest,
    resource_of,
)
from certwright.kube.kinds import (
    Deployment,
    Event,
    MutatingWebhookConfiguration,
    Namespace,
    Secret,
    ValidatingWebhookConfiguration,
)
from certwright.operators.certmanager.ibm.operator import (
    CertManagerCrSettings,
    certmanager_cr_operator,
)
from certwright.operators.certmanager.source import BundleSource
from certwright.runtime import Operator, OperatorHost
from certwright.testkit import Calls, EmbeddedCluster
from certwright.testkit.actors.certmanager import CertManagerPlay, PlayedCertManager

CM = CertManagerInstallation.resource
FINALIZER = "certmanager.operators.ibm.com"
HERE = "cert-manager"
REGISTRATIONS = (MutatingWebhookConfiguration, ValidatingWebhookConfiguration)


class Refusing:
    """A transport that refuses some requests."""

    def __init__(
        self,
        inner: Transport,
        refuses: Mapping[tuple[str, str, str], int],
        refused: list[Request],
    ) -> None:
        self._inner = inner
        self._refuses = refuses
        self._refused = refused

    async def send(self, request: Request) -> Response:
        if code := self._code(request):
            self._refused.append(request)
            reason = {403: "Forbidden", 503: "ServiceUnavailable"}[code]
            body = f'{{"kind":"Status","code":{code},"reason":"{reason}","message":"no {code}"}}'
            return Response(code, {}, body.encode())
        return await self._inner.send(request)

    def stream(self, request: Request) -> AbstractAsyncContextManager[Stream]:
        if code := self._code(request):
            raise Forbidden("no") if code == 403 else ServiceUnavailable("no")
        return self._inner.stream(request)

    async def close(self) -> None:
        pass

    def _code(self, request: Request) -> int:
        kind = request.resource.kind if request.resource is not None else ""
        path = request.path
        if request.body and request.verb == "create":
            path += f"/{orjson.loads(request.body)['metadata'].get('name')}"
        for (verb, refused, end), code in self._refuses.items():
            if (verb, refused) == (request.verb, kind) and path.endswith(f"/{end}"):
                return code
        return 0


@dataclass
class _Host:
    client: Client
    clock: Any
    metrics: Any
    rng: Any
    leads: Callable[[], bool]

    @classmethod
    def of(cls, host: OperatorHost) -> "_Host":
        return cls(host.client, host.clock, host.metrics, host.rng, host.leads)


class Ibm:
    """A cluster, the operator of CertManagers, and words for both."""

    def __init__(self, cluster: EmbeddedCluster, played: PlayedCertManager) -> None:
        self.cluster = cluster
        self.played = played
        self.environment: Mapping[str, str] = {}
        self.verbosity = 1
        self.refuses: dict[tuple[str, str, str], int] = {}
        """Verb, kind and end of the path of what the operator is refused, and the answer."""
        self.refused: list[Request] = []
        self.running: Operator | None = None
        self._defined = False
        self._bundles: dict[str, PackedBundle] = {}

    # Declaring

    async def define(self) -> None:
        """Install the definition of CertManager, once."""
        if not self._defined:
            self._defined = True
            await self.cluster.install(crd_manifest(CertManagerInstallation))

    async def declare(self, name: str = "default", **spec: Any) -> JsonObject:
        """Create a CertManager."""
        await self.define()
        obj = {
            "apiVersion": CM.api_version,
            "kind": CM.kind,
            "metadata": {"name": name},
            "spec": spec,
        }
        created: JsonObject = await self.cluster.create(obj)
        return created

    async def change(self, **spec: Any) -> None:
        """Change the spec of the CertManager."""
        await self.cluster.patch(CM, "default", {"spec": spec})

    async def secret(
        self, name: str, value: str = "e30=", *, type_: str = "Opaque", **labels: str
    ) -> None:
        """Create a Secret; *name* is ``namespace/name``."""
        namespace, _, short = name.partition("/")
        await self.namespace(namespace)
        metadata = {"namespace": namespace, "name": short, "labels": labels}
        await self.cluster.create(
            {
                "apiVersion": "v1",
                "kind": "Secret",
                "metadata": metadata,
                "type": type_,
                "data": {".dockerconfigjson": value},
            }
        )

    async def namespace(self, name: str, **labels: str) -> None:
        """Create a namespace unless it is there."""
        if await self.cluster.find(Namespace, name):
            return
        metadata = {"name": name, "labels": labels}
        await self.cluster.create({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})

    # Running

    def operator(self) -> Operator:
        """Return the operator; bundles are small, and made when they are first asked for."""

        def bundles() -> BundleSet:
            if not self._bundles:
                self._bundles = {version: packed(version) for version in VERSIONS}
            return BundleSet(self._bundles, ())

        source = BundleSource(bundles, load(), default=VERSIONS[-1])
        settings = CertManagerCrSettings(source, self.environment, self.verbosity)
        operator = certmanager_cr_operator(settings)
        return Operator(operator.name, lambda host: operator.build(self._refused(host)))

    def _refused(self, host: OperatorHost) -> OperatorHost:
        transport = Refusing(host.client.transport, self.refuses, self.refused)
        client = Client(transport, clock=host.clock, field_manager=host.client.field_manager)
        return replace(_Host.of(host), client=client)

    async def settle(self) -> Calls:
        """Run the operator until it waits; return its calls."""
        await self.define()
        self.running = self.running or self.operator()
        return await self.cluster.settle(self.running)

    async def advance(self, seconds: float) -> Calls:
        """Let time pass while the operator runs; return its calls."""
        await self.settle()
        return await self.cluster.advance(seconds=seconds)

    async def until_ready(self, seconds: int = 120) -> Calls:
        """Let time pass until the CertManager is ready; return all calls until then."""
        requests = list(await self.settle())
        for _ in range(seconds):
            if (await self.conditions()).get("Ready", "").startswith("True"):
                return Calls(requests)
            requests += await self.cluster.advance(seconds=1)
        raise AssertionError(await self.status())

    async def installed(self, **spec: Any) -> None:
        """Install, and wait until all is ready and quiet."""
        await self.declare(**spec)
        await self.until_ready()
        await self.advance(30)

    async def restart(self) -> Calls:
        """Start the operator again with nothing in mind, and let it rest."""
        assert self.running is not None
        return await self.cluster.restart(self.running)

    # Looking

    async def status(self, name: str = "default") -> JsonObject:
        """Return the status of a CertManager."""
        return (await self.cluster.get(CM, name)).get("status") or {}

    async def conditions(self, name: str = "default") -> dict[str, str]:
        """Return its conditions: ``{"Ready": "True/Deployed", …}``."""
        found = (await self.status(name)).get("conditions") or ()
        return {one["type"]: f"{one['status']}/{one['reason']}" for one in found}

    async def message(self, condition: str) -> str:
        """Return the message of a condition."""
        found = (await self.status()).get("conditions") or ()
        return str(next(one["message"] for one in found if one["type"] == condition))

    async def text(self) -> str:
        """Return the sentence of the status."""
        return str((await self.status()).get("certManagerStatus") or "")

    async def find(self, kind: type[Object] | Resource, name: str) -> Any:
        """Return an object, or None; ``namespace/name``, or a name for cluster scope."""
        return await self.cluster.find(kind, name)

    async def deployment(self, name: str) -> Any:
        """Return a Deployment of the install namespace, or None."""
        return await self.find(Deployment, f"{HERE}/{name}")

    async def container(self, name: str) -> JsonObject:
        """Return the container of a Deployment."""
        deployment = await self.deployment(name)
        found: JsonObject = deployment["spec"]["template"]["spec"]["containers"][0]
        return found

    async def exists(self, ref: ObjectRef) -> bool:
        """Return whether an object of any kind exists."""
        client = self.cluster.client
        try:
            await client.get(await client.discovery.resource_for(ref.gvk), ref.key)
        except NotFound:
            return False
        return True

    async def data(self, name: str) -> Any:
        """Return the data of a Secret, or None."""
        found = await self.find(Secret, name)
        return None if found is None else found.get("data")

    async def events(self, reason: str) -> list[str]:
        """Return the notes of the events with a reason."""
        found = await self.cluster.list(resource_of(Event))
        return [event["note"] for event in found if event["reason"] == reason]

    async def told(self) -> list[str]:
        """Return the reasons of all events about the CertManager, in their order."""
        found = await self.cluster.list(resource_of(Event))
        ours = [event for event in found if event["regarding"]["kind"] == "CertManager"]
        return [event["reason"] for event in sorted(ours, key=lambda e: e["eventTime"])]


@pytest.fixture
async def ibm(embedded_cluster: EmbeddedCluster) -> Ibm:
    played = await embedded_cluster.enter(PlayedCertManager(embedded_cluster, CertManagerPlay()))
    return Ibm(embedded_cluster, played)
