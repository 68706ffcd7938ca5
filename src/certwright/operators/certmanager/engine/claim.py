"""One custom resource holds the installation; a Lease says which.

Both kinds of custom resource want objects of the same names. A Lease names the one that may write:
kind, name and uid. Another one notes itself there as the next in line and touches nothing. When the
holder goes, it hands the installation over as it is, or takes it away if none waits. The claim of
one that does not exist any more counts for nothing.
"""

from dataclasses import dataclass
from typing import Final

from certwright.kube import AlreadyExists, GroupVersionKind, JsonObject, Key, NotFound, Object
from certwright.kube.kinds import Lease
from certwright.operators.certmanager.engine.port import holder_name
from certwright.runtime import Context

CLAIM: Final = Key("kube-system", "cert-manager-install-claim")
NEXT: Final = "operators.redhat.io/next-in-line"
"""The annotation that names who takes over when the holder goes."""


@dataclass(frozen=True, slots=True)
class Claimant:
    """A custom resource, as a claim names it."""

    kind: str
    name: str
    uid: str

    @classmethod
    def parse(cls, text: str) -> "Claimant | None":
        """Read ``kind/name/uid``; None if it is something else."""
        parts = text.split("/")
        return cls(*parts) if len(parts) == 3 and all(parts) else None

    def __str__(self) -> str:
        return f"{self.kind}/{self.name}/{self.uid}"


@dataclass(frozen=True, slots=True)
class ClaimState:
    """Who holds the installation, and who is next."""

    holder: str
    next_in_line: str = ""

    @classmethod
    def of(cls, lease: JsonObject | None) -> "ClaimState":
        """Read a claim; no claim is held by none."""
        spec = (lease or {}).get("spec") or {}
        annotations = ((lease or {}).get("metadata") or {}).get("annotations") or {}
        return cls(str(spec.get("holderIdentity") or ""), str(annotations.get(NEXT) or ""))


class Claims:
    """The claim, as it is in the cluster; *kinds* are those that can hold it."""

    def __init__(self, kinds: dict[str, GroupVersionKind]) -> None:
        self._kinds = kinds

    async def acquire(self, ctx: Context, obj: Object) -> str:
        """Claim the installation; return who else holds it, empty if *obj* does."""
        mine, lease = holder_name(obj), ctx.get(Lease, CLAIM)
        held = ClaimState.of(lease)
        if held.holder == mine:
            return ""
        if lease is None:
            try:
                await ctx.create(_lease(mine))
            except AlreadyExists:
                return await self._loses(ctx, mine, await ctx.client.get(Lease, CLAIM))
            return ""
        if await self._exists(ctx, held.holder):
            return await self._loses(ctx, mine, lease)
        await ctx.patch(lease, _held_by(mine))
        return ""

    async def successor(self, ctx: Context, obj: Object) -> str:
        """Return who takes over from *obj*; empty if none waits, or *obj* holds nothing."""
        held = ClaimState.of(ctx.get(Lease, CLAIM))
        if held.holder != holder_name(obj) or not held.next_in_line:
            return ""
        return held.next_in_line if await self._exists(ctx, held.next_in_line) else ""

    async def hand_over(self, ctx: Context, obj: Object, successor: str) -> None:
        """Let *successor* hold the installation, or no one if that is empty."""
        lease = ctx.get(Lease, CLAIM)
        if lease is None or ClaimState.of(lease).holder != holder_name(obj):
            return
        if successor:
            await ctx.patch(lease, _held_by(successor))
        else:
            await ctx.delete(lease)

    async def _loses(self, ctx: Context, mine: str, lease: JsonObject) -> str:
        held = ClaimState.of(lease)
        if held.holder == mine:
            return ""
        if held.next_in_line != mine and not await self._exists(ctx, held.next_in_line):
            await ctx.patch(lease, {"metadata": {"annotations": {NEXT: mine}}})
        return held.holder

    async def _exists(self, ctx: Context, named: str) -> bool:
        """Return whether a claimant is there; one of a kind that is not served is not."""
        claimant = Claimant.parse(named)
        gvk = self._kinds.get(claimant.kind) if claimant else None
        if claimant is None or gvk is None:
            return False
        try:
            resource = await ctx.client.discovery.resource_for(gvk)
            found = await ctx.client.get(resource, Key("", claimant.name))
        except NotFound:
            return False
        return bool(found["metadata"].get("uid") == claimant.uid)


def _lease(holder: str) -> JsonObject:
    return {
        "apiVersion": Lease.api_version,
        "kind": Lease.kind,
        "metadata": {"namespace": CLAIM.namespace, "name": CLAIM.name},
        "spec": {"holderIdentity": holder},
    }


def _held_by(holder: str) -> JsonObject:
    return {
        "metadata": {"annotations": {NEXT: None}},
        "spec": {"holderIdentity": holder},
    }
