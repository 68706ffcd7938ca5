"""Each minor version of cert-manager after the other, on one real API server.

Objects are applied, migrated and pruned as the operator does; pods are not needed for that.
"""

import asyncio
import base64
import ssl
from collections.abc import AsyncIterator, Collection, Iterable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest
from aiohttp import web
from tests.support.bundles.released import released
from tests.support.conversion import Json, Review
from tests.support.waits import until

from certwright.apiserver.http.certs import TestAuthority
from certwright.apply import Declared, Direct, Engine, ObjectRef, ObjectSet, Owner, SetChanges
from certwright.bundles.catalogue import load
from certwright.bundles.versions import Release
from certwright.client import Client, connect, until_served
from certwright.clock import SYSTEM
from certwright.keep.installer import CONFIRMED
from certwright.kube import Invalid, JsonObject, Key, NotFound, Resource
from certwright.kube.kinds import ConfigMap, CustomResourceDefinition, Namespace, Service
from certwright.listener import serve_web
from certwright.operators.certmanager.engine.migration import migrate, migrations
from certwright.operators.certmanager.engine.observed import definition_state
from certwright.operators.certmanager.engine.steps import Wanted, wanted_of
from certwright.operators.certmanager.render import render
from certwright.operators.certmanager.request import InstallRequest
from certwright.testkit.controlplane import control_plane

pytestmark = [pytest.mark.real, pytest.mark.timeout(300)]

MANAGER = "certmanager"
OWNER = Owner("operators.redhat.io/owner", "cluster")
CATALOGUE = load()
MINORS = [*{Release.parse(version).minor: version for version in CATALOGUE.versions}.values()]
"""The newest version of each minor."""
CERTIFICATES = "certificates.cert-manager.io"
OLD = Resource("cert-manager.io", "v1alpha2", "Certificate", "certificates")
NEW = Resource("cert-manager.io", "v1", "Certificate", "certificates")
PLACE = Key("default", "old")
ORGANIZATIONS = ["Example"]


class ListedObjects:
    """An inventory in memory."""

    def __init__(self) -> None:
        self.refs: dict[object, ObjectRef] = {}

    async def load(self) -> Sequence[ObjectRef]:
        return list(self.refs.values())

    async def add(self, refs: Collection[ObjectRef]) -> None:
        self.refs.update({ref.identity: ref for ref in refs})

    async def discard(self, refs: Collection[ObjectRef]) -> None:
        for ref in refs:
            self.refs.pop(ref.identity, None)


class Installation:
    """What the operator does to objects, without the gates between its steps."""

    def __init__(self, client: Client, webhook: JsonObject) -> None:
        self.client = client
        self.inventory = ListedObjects()
        self._webhook = webhook

    async def wanted(self, version: str) -> Wanted:
        """Return the objects of a version, with webhooks that can be reached without a Service."""
        bundle = await asyncio.to_thread(released, version)
        wanted = wanted_of(render(InstallRequest(version=version), bundle, CATALOGUE))
        assert wanted.problems == ()
        for one in wanted.objects:
            for config in client_configs(one.obj):
                config.clear()
                config.update(self._webhook)
        return wanted

    async def migrated(self, wanted: Wanted) -> list[str]:
        """Store objects anew as the operator does; return the definitions it concerned."""
        states = [
            definition_state(name, await self.client.get(CustomResourceDefinition, Key("", name)))
            for name in wanted.versions
        ]
        found = migrations(states, wanted.versions)
        for one in found:
            assert await migrate(self.client, one, MANAGER) == ()
        return [one.definition for one in found]

    async def apply(self, objects: Iterable[Declared]) -> SetChanges:
        """Apply objects and delete all others, with nothing in mind of earlier ones."""
        engine = Engine(Direct(self.client, field_manager=MANAGER), replaces=True)
        return await ObjectSet(engine, self.inventory, OWNER).apply(objects, options=CONFIRMED)

    async def found(self, kinds: Iterable[tuple[str, str]]) -> set[ObjectRef]:
        """Return all objects of some kinds, whoever made them."""
        refs: set[ObjectRef] = set()
        for api_version, kind in kinds:
            gvk = ObjectRef(api_version, kind, "", "x").gvk
            resource = await self.client.discovery.resource_for(gvk)
            listed = (await self.client.list(resource)).items
            refs |= {ObjectRef.of({"apiVersion": api_version, "kind": kind, **o}) for o in listed}
        return refs


def client_configs(obj: JsonObject) -> list[JsonObject]:
    """Return where the webhooks of a definition or a registration are."""
    conversion = ((obj.get("spec") or {}).get("conversion") or {}).get("webhook")
    return [
        one["clientConfig"] for one in (obj.get("webhooks") or ([conversion] * bool(conversion)))
    ]


def converted(obj: JsonObject, version: str) -> JsonObject:
    """Convert a Certificate as cert-manager does what concerns its organizations."""
    spec = dict(obj["spec"])
    if version.endswith("/v1") and "organization" in spec:
        spec["subject"] = {"organizations": spec.pop("organization")}
    return {**obj, "apiVersion": version, "spec": spec}


@asynccontextmanager
async def webhooks(folder: Path) -> AsyncIterator[JsonObject]:
    """Serve webhooks that convert Certificates and admit everything; give where they are."""

    async def answer(request: web.Request) -> web.Response:
        review: Json = await request.json()
        if review["kind"] == "ConversionReview":
            asked = Review(review)
            objects = [converted(obj, asked.wanted) for obj in asked.objects]
            return web.json_response(asked.converted(objects))
        response = {"uid": review["request"]["uid"], "allowed": True}
        head = {name: review[name] for name in ("apiVersion", "kind")}
        return web.json_response({**head, "response": response})

    authority = TestAuthority("webhooks of the matrix", SYSTEM.now())
    pair, file = authority.serving("127.0.0.1"), folder / "webhook.pem"
    file.write_bytes(pair.key + pair.certificate)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    app = web.Application(client_max_size=2**24)
    app.router.add_post("/", answer)
    runner = web.AppRunner(app, access_log=None)
    async with serve_web(runner, "127.0.0.1", context=context) as port:
        url = f"https://127.0.0.1:{port}/"
        yield {"url": url, "caBundle": base64.b64encode(authority.certificate).decode()}


@pytest.fixture
async def installation(tmp_path: Path) -> AsyncIterator[Installation]:
    async with (
        webhooks(tmp_path) as webhook,
        control_plane(controllers=()) as plane,
        connect(kubeconfig=plane.kubeconfig) as client,
    ):
        await until("the server has made its own objects", partial(is_furnished, client))
        yield Installation(client, webhook)


SYSTEM_NAMESPACES = ("default", "kube-node-lease", "kube-public", "kube-system")


async def is_furnished(client: Client) -> bool:
    """Return whether there is what an API server makes for itself, some time after its start."""
    own = [(Namespace, Key("", name)) for name in SYSTEM_NAMESPACES]
    own.append((Service, Key("default", "kubernetes")))
    own.append((ConfigMap, Key("kube-system", "extension-apiserver-authentication")))
    for kind, key in own:
        try:
            await client.get(kind, key)
        except NotFound:
            return False
    return True


async def store_old_certificate(installation: Installation, first: str) -> None:
    """Have a Certificate stored as versions before 1.0 stored it."""
    client = installation.client
    [definition] = [
        one
        for one in (await installation.wanted(first)).definitions
        if one["metadata"]["name"] == CERTIFICATES
    ]
    versions = [
        {**one, "storage": one["name"] == OLD.version} for one in definition["spec"]["versions"]
    ]
    await client.create({**definition, "spec": {**definition["spec"], "versions": versions}})
    await until_served(client, definition)
    spec = {
        "secretName": "old",
        "dnsNames": ["old.example.com"],
        "organization": ORGANIZATIONS,
        "issuerRef": {"name": "ca"},
    }
    metadata = {"namespace": PLACE.namespace, "name": PLACE.name}
    await client.create(
        {"apiVersion": OLD.api_version, "kind": OLD.kind, "metadata": metadata, "spec": spec}
    )


async def test_each_version_leaves_exactly_its_objects(installation: Installation) -> None:
    assert len(MINORS) == 22
    client = installation.client
    every = {version: await installation.wanted(version) for version in MINORS}
    objects = [one for wanted in every.values() for one in wanted.objects]
    kinds = sorted({(one.ref.api_version, one.ref.kind) for one in objects})
    system = await installation.found(kinds)
    await store_old_certificate(installation, MINORS[0])
    migrated: dict[str, list[str]] = {}
    for version, wanted in every.items():
        if version == MINORS[0]:
            await installation.apply(wanted.objects)
        if version.startswith("v1.7."):
            [definition] = [o for o in wanted.definitions if o["metadata"]["name"] == CERTIFICATES]
            with pytest.raises(Invalid, match="v1alpha2 was previously a storage version"):
                await client.apply(definition, force=True, field_manager="plain")
        if concerned := await installation.migrated(wanted):
            migrated[version] = concerned
        changes = await installation.apply(wanted.objects)
        assert changes.all.complete, (version, [str(one) for one in changes.all.entries])
        left = await installation.found(kinds) - system
        assert left == {one.ref for one in wanted.objects}, version
        again = await installation.apply(wanted.objects)
        assert not again.all.changed, (version, [str(one) for one in again.all.entries])

    seventh = next(version for version in MINORS if version.startswith("v1.7."))
    assert migrated == {seventh: [CERTIFICATES]}
    status = (await client.get(CustomResourceDefinition, Key("", CERTIFICATES)))["status"]
    assert status["storedVersions"] == ["v1"]
    certificate = await client.get(NEW, PLACE)
    assert certificate["spec"]["subject"] == {"organizations": ORGANIZATIONS}
    assert "organization" not in certificate["spec"]
