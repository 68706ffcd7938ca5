"""One version of cert-manager after the other, with its pods, while certificates are in use.

The operator dies in each step of each upgrade. CERTWRIGHT_TEST_RELEASES says which versions; by
default the last two.
"""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import pairwise

import pytest
from tests.support.bundles.released import released
from tests.support.certmanager.killedoperator import OperatorKiller, StepMap, killed_operator
from tests.support.certmanager.releases import (
    Certificate,
    certificate_manifest,
    certificate_spec,
    plane_with_releases,
    request_certificate,
    until_ready,
)

from certwright.api.certmanagerdeployments import CertManagerDeployment
from certwright.client import Client, TransportError, until_served
from certwright.client.retry import Policy
from certwright.kube import ApiError, JsonObject, Key, NotFound, Resource, crd_manifest
from certwright.kube.kinds import CustomResourceDefinition, Deployment, Secret
from certwright.testkit.certmanager.assets import VERSIONS
from certwright.testkit.node.plane import PlaneWithNode

CHOSEN = os.environ.get("CERTWRIGHT_TEST_RELEASES", " ".join(VERSIONS[-2:]))
RELEASES = [f"v{one}" for one in (VERSIONS if CHOSEN == "all" else CHOSEN.split())]
pytestmark = [pytest.mark.real, pytest.mark.timeout(150 * len(RELEASES))]

CMD = CertManagerDeployment.resource
REQUESTS = Resource("cert-manager.io", "v1", "CertificateRequest", "certificaterequests")
NAME = "in-use"
KEY = Key("default", NAME)
WRITE_SECONDS = 0.25
STEP_SECONDS = 120.0
CUT_OFF = (
    ": EOF",
    ": broken pipe",
    ": connection reset by peer",
    ": use of closed network connection",
    ": server closed idle connection",
)
"""How the API server says that a connection ended under its request."""


class CertificateUser:
    """Writes a Certificate again and again, and notes when that is refused or it is not ready."""

    def __init__(self, client: Client) -> None:
        self._client = Client(client.transport, retries=Policy(attempts=1))
        self.writes = 0
        self.troubles: list[str] = []
        self.cut_off: list[str] = []

    @asynccontextmanager
    async def at_work(self) -> AsyncIterator[None]:
        """Write for the duration of a context."""
        async with asyncio.TaskGroup() as group:
            writing = group.create_task(self._run())
            yield
            writing.cancel()

    async def _run(self) -> None:
        clock = asyncio.get_running_loop().time
        due = clock()
        while True:
            await self._write()
            due = max(due + WRITE_SECONDS, clock())
            await asyncio.sleep(due - clock())

    async def _write(self) -> None:
        """Write once more. What was cut off is sent again, as clients do.

        A webhook that ends closes its idle connections. If the API server has just sent a request on
        one of them, that request is lost, and HTTP clients do not repeat a POST. No installer and
        no order of shutdown prevents that; it takes a request in the very moment.
        """
        self.writes += 1
        if cut_off := await self._attempt():
            self.cut_off.append(cut_off)
            if refused := await self._attempt():
                self.troubles.append(refused)

    async def _attempt(self) -> str:
        """Write, and note trouble; return what was cut off, which may be tried again."""
        change = {"metadata": {"annotations": {"test": str(self.writes)}}}
        trial = certificate_manifest("trial", certificate_spec("trial"))
        try:
            found = await self._client.patch(Certificate, KEY, change)
            await self._client.create(trial, dry_run=True)
        except (ApiError, TransportError) as error:
            trouble = f"write {self.writes}: {error}"
            if trouble.endswith(CUT_OFF):
                return trouble
            self.troubles.append(trouble)
            return ""
        ready = [c for c in found["status"]["conditions"] if c["type"] == "Ready"]
        if [one["status"] for one in ready] != ["True"]:
            self.troubles.append(f"write {self.writes}: {ready}")
        return ""


async def state_of(client: Client) -> JsonObject:
    """Return what must not change: a new revision, key or request is another issuance."""
    secret = await client.get(Secret, KEY)
    requests = (await client.list(REQUESTS, "default")).items
    certificate = await client.get(Certificate, KEY)
    return {
        "data": secret["data"],
        "requests": [one["metadata"]["uid"] for one in requests],
        "revision": certificate["status"]["revision"],
    }


async def declare(client: Client, **spec: object) -> None:
    head = {"apiVersion": CMD.api_version, "kind": CMD.kind, "metadata": {"name": "cluster"}}
    await client.apply({**head, "spec": spec}, field_manager="test")


async def until_works(client: Client, version: str) -> None:
    """Return when the status says that a version works, and nothing is left to do."""
    found: JsonObject = {}
    try:
        async with asyncio.timeout(STEP_SECONDS):
            while not works(found, version):
                await asyncio.sleep(0.1)
                found = await client.get(CMD, Key("", "cluster"))
    except TimeoutError:
        raise AssertionError(f"{version} does not work: {found.get('status')}") from None


def works(obj: JsonObject, version: str) -> bool:
    status = obj.get("status") or {}
    told = {one["type"]: one["status"] for one in status.get("conditions") or ()}
    return bool(
        status.get("installedVersion") == version
        and status.get("observedGeneration") == obj["metadata"]["generation"]
        and (told.get("Available"), told.get("Progressing")) == ("True", "False")
    )


async def change_version(
    client: Client, killer: OperatorKiller, steps: StepMap, older: str, newer: str
) -> None:
    """Ask for another version and wait for it; the operator dies in each step on the way."""
    killer.killed.clear()
    killer.armed = True
    await declare(client, version=newer, upgrade={"allowDowngrade": True})
    await until_works(client, newer)
    killer.armed = False
    assert set(killer.killed) == steps.between(older, newer)


async def until_gone(client: Client) -> None:
    async with asyncio.timeout(STEP_SECONDS):
        while True:
            try:
                await client.get(CMD, Key("", "cluster"))
            except NotFound:
                return
            await asyncio.sleep(0.1)


async def check_removal(running: PlaneWithNode, before: JsonObject) -> None:
    """Delete the custom resource: components go, and what users have stays."""
    client = running.client
    await client.delete(CMD, Key("", "cluster"))
    await until_gone(client)
    assert (await client.list(Deployment, "cert-manager")).items == []
    definitions = (await client.list(CustomResourceDefinition)).items
    names = {one["metadata"]["name"] for one in definitions}
    assert {"certificates.cert-manager.io", "issuers.cert-manager.io"} <= names
    assert await state_of(client) == before


async def test_certificates_are_in_use_all_the_time() -> None:
    bundles = [await asyncio.to_thread(released, version) for version in RELEASES]
    async with plane_with_releases(*(version[1:] for version in RELEASES)) as running:
        client = running.client
        await until_served(client, await client.create(crd_manifest(CertManagerDeployment)))
        async with killed_operator(running.plane, client, bundles) as (killer, steps):
            await declare(client, version=RELEASES[0])
            await until_works(client, RELEASES[0])
            await request_certificate(client, NAME)
            await until_ready(client, NAME)
            before, user = await state_of(client), CertificateUser(client)
            async with user.at_work():
                there_and_back = [*RELEASES, *reversed(RELEASES[:-1])]
                for older, newer in pairwise(there_and_back):
                    await change_version(client, killer, steps, older, newer)
                    assert await state_of(client) == before
                await check_removal(running, before)
        assert user.troubles == []
        assert len(user.cut_off) <= len(there_and_back), user.cut_off
        assert user.writes > 50 * len(RELEASES)
        assert killer.refused == []
