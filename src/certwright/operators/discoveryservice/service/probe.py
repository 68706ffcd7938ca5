"""A dry run of a labelled Pod: only when it comes back injected does the webhook work.

That pods are ready says little: the API server may not trust the certificate yet, or reach another
Service. Nothing is stored.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from certwright.client import Client, TransportError
from certwright.kube import ApiError, JsonObject, Key
from certwright.operators.discoveryservice.injection.annotations import PREFIX
from certwright.operators.discoveryservice.injection.review import ENABLED, STATUS_LABEL

NODE_ID: Final = "certwright-probe"
SIDECAR: Final = "envoy-sidecar"
EVIDENCE_SECONDS: Final = 300.0
"""How long a dry run counts while nothing changes."""
MOST_PROBES: Final = 3
"""In how many namespaces it is tried if something there refuses the Pod."""
_CALL_FAILED: Final = "failed calling webhook"


class ProbeResult(StrEnum):
    """What became of a dry run; also the reason of a condition."""

    INJECTED = "Injected"
    UNTRIED = "WebhookNotTried"
    UNREACHED = "WebhookNotReached"
    """The API server called, and got no answer that it trusts."""
    NOT_INJECTED = "NotInjected"
    """The API server did not call."""
    REFUSED = "PodRefused"
    """Something else refused the Pod."""
    UNKNOWN = "APIServerNotReached"


@dataclass(frozen=True, slots=True)
class ProbeFinding:
    """The result of a dry run in a namespace, and what the server said."""

    result: ProbeResult
    namespace: str = ""
    detail: str = ""

    @property
    def passed(self) -> bool:
        """Whether the Pod came back injected."""
        return self.result is ProbeResult.INJECTED


UNTRIED: Final = ProbeFinding(ProbeResult.UNTRIED)


def probe_pod(namespace: str) -> JsonObject:
    """Return a Pod that wants a sidecar, and that strict namespaces accept."""
    container = {
        "name": "probe",
        "image": "probe",
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "runAsNonRoot": True,
            "capabilities": {"drop": ["ALL"]},
            "seccompProfile": {"type": "RuntimeDefault"},
        },
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "generateName": "certwright-probe-",
            "namespace": namespace,
            "labels": {STATUS_LABEL: ENABLED},
            "annotations": {f"{PREFIX}node-id": NODE_ID},
        },
        "spec": {"containers": [container]},
    }


async def probe(client: Client, namespace: str) -> ProbeFinding:
    """Ask the API server to create a labelled Pod in a namespace, without storing it."""
    try:
        answer = await client.create(probe_pod(namespace), dry_run=True)
    except TransportError as error:
        return ProbeFinding(ProbeResult.UNKNOWN, namespace, str(error))
    except ApiError as error:
        called = _CALL_FAILED in error.message
        result = ProbeResult.UNREACHED if called else ProbeResult.REFUSED
        return ProbeFinding(result, namespace, error.message)
    found = ProbeResult.INJECTED if has_sidecar(answer) else ProbeResult.NOT_INJECTED
    return ProbeFinding(found, namespace)


def has_sidecar(pod: JsonObject) -> bool:
    """Return whether a Pod has the sidecar that its annotations ask for."""
    annotations: dict[str, Any] = (pod.get("metadata") or {}).get("annotations") or {}
    name = annotations.get(f"{PREFIX}container-name") or SIDECAR
    spec = pod.get("spec") or {}
    containers = [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
    return any(one.get("name") == name for one in containers)


@dataclass(frozen=True, slots=True)
class _Evidence:
    facts: Hashable
    at: float
    finding: ProbeFinding

    def holds(self, facts: Hashable, now: float, *, due: bool) -> bool:
        """Return whether there is no reason to ask again."""
        recent = now - self.at < EVIDENCE_SECONDS if self.finding.passed else not due
        return recent and self.facts == facts


class WebhookEvidence:
    """What dry runs showed, for each DiscoveryService, as long as it counts."""

    def __init__(self) -> None:
        self._known: dict[Key, _Evidence] = {}

    async def find(
        self,
        key: Key,
        client: Client,
        now: float,
        facts: Hashable,
        namespaces: Sequence[str],
        *,
        due: bool,
    ) -> ProbeFinding:
        """Return whether Pods are injected; asks again once *facts* or enough time have changed.

        If they were not, it asks again when that is *due*: events are no reason, and there may be
        many of them while each dry run waits for a webhook that does not answer.
        """
        known = self._known.get(key)
        if known is not None and known.holds(facts, now, due=due):
            return known.finding
        finding = UNTRIED
        for namespace in namespaces[:MOST_PROBES]:
            finding = await probe(client, namespace)
            if finding.passed:
                break
        self._known[key] = _Evidence(facts, now, finding)
        return finding

    def forget(self, key: Key) -> None:
        """Forget a DiscoveryService that is gone."""
        self._known.pop(key, None)
