"""``certwright cert-manager adopt``: an installation of others is taken over."""

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from msgspec import to_builtins

from certwright.apply import ObjectRef
from certwright.cli.certmanager.inputs import Asked, published, read_either, source_of
from certwright.cli.certmanager.plan import problem_lines
from certwright.cli.connection import connected
from certwright.cli.errors import UsageError
from certwright.cli.options import Target
from certwright.cli.terminal.confirm import confirm
from certwright.cli.terminal.output import table
from certwright.client import Client
from certwright.kube import JsonObject, NotFound
from certwright.operators.certmanager.preview import InstallPreview, restarted
from certwright.operators.certmanager.redhat.messages import listed

FIELD_MANAGER: Final = "certwright-cli"
_HELM: Final = "app.kubernetes.io/managed-by"
_RELEASE: Final = "meta.helm.sh/release-name"
_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"


async def adopt(target: Target, path: str, folder: Path, *, yes: bool, dry_run: bool) -> int:
    """Show what would be taken over, ask, and set ``spec.adopt``; 2 if something is in the way."""
    async with connected(target) as session:
        client = session.client
        asked = await read_either(client, path)
        source = source_of(folder, await published(client))
        request = asked.request(source)
        found = await asked.preview(client, replace(request, adopt=True), source)
        installers = await installers_of(client, found.plan.around.foreign)
        print(takeover_text(found, installers))
        problems = list(problem_lines(found))
        for problem in problems:
            print(f"error: {problem}", file=sys.stderr)
        if problems:
            return 2
        if not installers:
            return 0
        if dry_run:
            print(f"{consequences(found)}\n(dry run: nothing was changed)")
            return 0
        confirm(consequences(found), yes=yes)
        await _write(client, asked)
    print(f"{asked.name} has spec.adopt: true; certwright cert-manager explain shows what happens")
    return 0


async def installers_of(client: Client, refs: Sequence[ObjectRef]) -> dict[ObjectRef, str]:
    """Return who installed some objects."""
    found = {}
    for ref in refs:
        resource = await client.discovery.resource_for(ref.gvk)
        try:
            found[ref] = installer_of(await client.get(resource, ref.key))
        except NotFound:
            continue
    return found


def installer_of(obj: JsonObject) -> str:
    """Return who installed an object, as its labels and annotations tell."""
    metadata: JsonObject = obj.get("metadata") or {}
    labels, annotations = metadata.get("labels") or {}, metadata.get("annotations") or {}
    if labels.get(_HELM) == "Helm" or _RELEASE in annotations:
        return f"Helm release {annotations.get(_RELEASE) or 'not named'}"
    if _APPLIED in annotations:
        return "kubectl apply"
    fields = [one for one in metadata.get("managedFields") or () if not one.get("subresource")]
    # Controllers update objects that others created: annotations, CAs.
    first = sorted(fields, key=lambda one: str(one.get("time")))[:1]
    applied = [one for one in fields if one.get("operation") == "Apply"]
    managers = [str(one.get("manager")) for one in applied or first]
    return listed(dict.fromkeys(managers)) or "not known"


def takeover_text(found: InstallPreview, installers: dict[ObjectRef, str]) -> str:
    """Return which objects would be taken over, and what would become of each."""
    if not installers:
        return "there is nothing to take over: no object that is wanted belongs to others"
    actions = {change.ref: change.action.told(planned=True) for change in found.changes.entries}
    rows = [(ref.kind, str(ref.key), who, actions.get(ref, "")) for ref, who in installers.items()]
    return table(("KIND", "NAME", "INSTALLED BY", "ACTION"), rows)


def consequences(found: InstallPreview) -> str:
    """Return what follows from taking over, for the question."""
    pods = [change.ref.name for change in restarted(found.changes)]
    stays = f"pods are replaced of: {listed(pods)}" if pods else "no pod is restarted"
    return (
        f"the operator keeps these objects from now on, as cert-manager {found.plan.wanted.version}"
        f" has them; {stays}. Do not use helm or kubectl apply on them any more; to drop a Helm"
        " release without its objects, delete its Secrets sh.helm.release.v1.*"
    )


async def _write(client: Client, asked: Asked) -> None:
    resource = type(asked.resource).resource
    patch = {"spec": {"adopt": True}}
    if asked.stored:
        await client.patch(resource, asked.resource.key, patch, field_manager=FIELD_MANAGER)
        return
    try:
        await client.get(resource, asked.resource.key)
    except NotFound:
        obj: JsonObject = to_builtins(asked.resource)
        metadata = {"name": asked.resource.key.name}
        body = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata}
        spec = {**(obj.get("spec") or {}), "adopt": True}
        await client.create({**body, "spec": spec}, field_manager=FIELD_MANAGER)
        return
    raise UsageError(
        f"{asked.name} exists already; leave out -f to adopt with it, or change it first"
    )
