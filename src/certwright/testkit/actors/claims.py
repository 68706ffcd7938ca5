"""PersistentVolumeClaims that go when they are deleted, where no controller lets them.

Stands in for the protection of claims in kube-controller-manager: a claim that is being deleted
loses the finalizer that the API server gave it, as soon as no pod uses it.
"""

from typing import Final

from certwright.kube import JsonObject, Key
from certwright.kube.kinds import PersistentVolumeClaim, Pod
from certwright.runtime import DONE, Context, Controller, Outcome, again, allow, select

FINALIZER: Final = "kubernetes.io/pvc-protection"
_AGAIN_SECONDS: Final = 1.0
_ENDED: Final = frozenset({"Succeeded", "Failed"})


def claim_controller(namespace: str = "") -> Controller:
    """Return the controller that lets claims go, of one namespace or all."""
    watched = select(PersistentVolumeClaim, namespace=namespace)
    rights = [allow(Pod, "list"), allow(PersistentVolumeClaim, "patch")]
    return Controller(watched, _reconcile, name="simulate-claim-protection", rbac=rights)


async def _reconcile(ctx: Context, key: Key) -> Outcome:
    claim = ctx.get(PersistentVolumeClaim, key)
    if claim is None or "deletionTimestamp" not in claim["metadata"]:
        return DONE
    if any(uses(pod, key.name) for pod in (await ctx.client.list(Pod, key.namespace)).items):
        return again(after=_AGAIN_SECONDS)
    await ctx.release(claim, FINALIZER)
    return DONE


def uses(pod: JsonObject, claim: str) -> bool:
    """Return whether a pod that has not ended mounts a claim."""
    if (pod.get("status") or {}).get("phase") in _ENDED:
        return False
    volumes = (pod.get("spec") or {}).get("volumes") or ()
    return any((v.get("persistentVolumeClaim") or {}).get("claimName") == claim for v in volumes)
