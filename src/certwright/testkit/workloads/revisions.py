"""The revisions of StatefulSets and DaemonSets: their templates, kept as ControllerRevisions."""

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from certwright.kube import AlreadyExists, JsonObject, key_of
from certwright.kube.kinds import ControllerRevision
from certwright.runtime import Context
from certwright.testkit.workloads.adoption import claim, controller_of
from certwright.testkit.workloads.templates import child_name, safe_digest

SET_LABEL: Final = "controller.kubernetes.io/hash"
"""Carries the hash on the revisions of StatefulSets; those of DaemonSets use `POD_LABEL`."""
POD_LABEL: Final = "controller-revision-hash"


@dataclass(frozen=True, slots=True)
class RevisionState:
    """The revisions of a set."""

    every: Sequence[JsonObject]
    """Oldest first, the present one last."""
    present: JsonObject
    """That of the template as it is now."""
    collisions: int

    def named(self, name: str) -> JsonObject | None:
        """Return a revision by its name, or None."""
        return next((each for each in self.every if each["metadata"]["name"] == name), None)


def template_data(template: JsonObject) -> JsonObject:
    """Return what a revision stores: the patch that gives a set this template."""
    return {"spec": {"template": {**template, "$patch": "replace"}}}


def template_of(revision: JsonObject) -> JsonObject:
    """Return the template that a revision stores."""
    stored: Mapping[str, object] = revision["data"]["spec"]["template"]
    return {name: value for name, value in stored.items() if name != "$patch"}


def revision_for(
    owner: JsonObject, number: int, collisions: int, label: str = SET_LABEL
) -> JsonObject:
    """Return the revision of a set's present template, to be created."""
    metadata, template = owner["metadata"], owner["spec"]["template"]
    data = template_data(template)
    digest = safe_digest(data, collisions)
    labels = (template.get("metadata") or {}).get("labels") or {}
    annotations = metadata.get("annotations")
    return {
        "apiVersion": ControllerRevision.api_version,
        "kind": ControllerRevision.kind,
        "metadata": {
            "name": child_name(metadata["name"][:223], digest),
            "namespace": metadata["namespace"],
            "labels": {**labels, label: digest},
            **({"annotations": dict(annotations)} if annotations else {}),
        },
        "data": data,
        "revision": number,
    }


def in_order(revisions: Iterable[JsonObject]) -> list[JsonObject]:
    """Return revisions by number, oldest first."""

    def order(revision: JsonObject) -> tuple[int, str, str]:
        metadata = revision["metadata"]
        return revision["revision"], metadata.get("creationTimestamp", ""), metadata["name"]

    return sorted(revisions, key=order)


def equal_revision(revisions: Sequence[JsonObject], template: JsonObject) -> JsonObject | None:
    """Return the newest revision that stores this template, or None."""
    data = template_data(template)
    return next((each for each in reversed(revisions) if each["data"] == data), None)


async def sync_revisions(ctx: Context, owner: JsonObject, label: str = SET_LABEL) -> RevisionState:
    """Adopt revisions, and make the one of the present template the newest."""
    revisions = in_order(await claim(ctx, ControllerRevision, owner))
    collisions: int = (owner.get("status") or {}).get("collisionCount") or 0
    number = revisions[-1]["revision"] + 1 if revisions else 1
    found = equal_revision(revisions, owner["spec"]["template"])
    if found is None:
        present, collisions = await _create(ctx, owner, label, number, collisions)
        return RevisionState([*revisions, present], present, collisions)
    if found is not revisions[-1]:
        await ctx.patch(found, {"revision": number})
        found = {**found, "revision": number}
        revisions = [each for each in revisions if key_of(each) != key_of(found)] + [found]
    return RevisionState(revisions, found, collisions)


async def _create(
    ctx: Context, owner: JsonObject, label: str, number: int, collisions: int
) -> tuple[JsonObject, int]:
    while True:
        wanted = revision_for(owner, number, collisions, label)
        try:
            return await ctx.create(wanted, owner=owner), collisions
        except AlreadyExists:
            taken = await ctx.client.get(ControllerRevision, key_of(wanted))
            ours = (controller_of(taken) or {}).get("uid") == owner["metadata"]["uid"]
            if ours and taken["data"] == wanted["data"]:
                return taken, collisions  # the cache has not seen it yet
            collisions += 1


def obsolete_revisions(state: RevisionState, live: Container[str], limit: int) -> list[JsonObject]:
    """Return the revisions to delete: neither present nor named in *live*, beyond the limit."""
    present = state.present["metadata"]["name"]
    history = [
        each
        for each in state.every
        if each["metadata"]["name"] not in live and each["metadata"]["name"] != present
    ]
    return history[: max(len(history) - limit, 0)]
