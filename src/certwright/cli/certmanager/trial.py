"""A certificate on trial: an Issuer that signs itself and a Certificate, created and deleted."""

import asyncio
from dataclasses import dataclass
from typing import Final

from certwright.client import Client, TransportError
from certwright.clock import Clock
from certwright.kube import ApiError, JsonObject, Key, NotFound, Resource
from certwright.kube.kinds import Secret
from certwright.operators.certmanager.engine.gates import CERTIFICATE, probe

NAME: Final = "certwright-check"
ISSUER: Final = Resource("cert-manager.io", "v1", "Issuer", "issuers")
_POLL_SECONDS: Final = 0.5
_TAKEN: Final = f"an object called {NAME} exists already; delete it, or choose another namespace"


@dataclass(frozen=True, slots=True)
class Trial:
    """Where a certificate is tried, and how long it may take."""

    namespace: str
    seconds: float = 60.0


@dataclass(frozen=True, slots=True)
class TrialResult:
    """What became of a certificate."""

    ready: bool
    seen: str


async def issue_one(client: Client, trial: Trial, clock: Clock) -> TrialResult:
    """Create an Issuer and a Certificate, wait until it is issued, and delete all of it."""
    key, made = Key(trial.namespace, NAME), False
    try:
        await client.get(Secret, key)
    except NotFound:
        pass
    except (ApiError, TransportError) as error:
        return TrialResult(ready=False, seen=str(error))
    else:
        return TrialResult(ready=False, seen=_TAKEN)
    try:
        for obj in manifests(trial.namespace):
            await client.create(obj)
            made = True
        return await _until_ready(client, key, trial.seconds, clock)
    except (ApiError, TransportError) as error:
        return TrialResult(ready=False, seen=str(error))
    finally:
        if made:
            for kind in (CERTIFICATE, ISSUER, Secret):
                await _delete(client, kind, key)


def manifests(namespace: str) -> list[JsonObject]:
    """Return an Issuer that needs nothing, and a Certificate of it."""
    issuer = {
        "apiVersion": ISSUER.api_version,
        "kind": ISSUER.kind,
        "metadata": {"name": NAME, "namespace": namespace},
        "spec": {"selfSigned": {}},
    }
    certificate = probe(NAME, sensible=True)
    return [issuer, {**certificate, "metadata": {"name": NAME, "namespace": namespace}}]


def ready_condition(certificate: JsonObject) -> JsonObject:
    """Return the condition Ready of a Certificate; {} if it has none yet."""
    conditions = (certificate.get("status") or {}).get("conditions") or ()
    return next((dict(one) for one in conditions if one.get("type") == "Ready"), {})


async def _until_ready(client: Client, key: Key, seconds: float, clock: Clock) -> TrialResult:
    begun, said = clock.monotonic(), "the controller has not looked at it"
    while clock.monotonic() - begun < seconds:
        condition = ready_condition(await client.get(CERTIFICATE, key))
        if condition.get("status") == "True":
            passed = clock.monotonic() - begun
            return TrialResult(ready=True, seen=f"Certificate {key} was issued in {passed:.1f} s")
        said = str(condition.get("message") or said)
        await asyncio.sleep(_POLL_SECONDS)
    seen = f"Certificate {key} is not issued after {seconds:.0f} s: {said}"
    return TrialResult(ready=False, seen=seen)


async def _delete(client: Client, kind: Resource, key: Key) -> None:
    try:
        await client.delete(kind, key)
    except (ApiError, TransportError):
        return  # not there, or the next one that is tried names it
