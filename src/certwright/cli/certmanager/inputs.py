"""Which installation is meant: a custom resource of a file or of the cluster, and its bundles."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec

from certwright.api.certmanagerdeployments import CertManagerDeployment
from certwright.api.certmanagers import CertManagerInstallation
from certwright.apply.engine.engine import OnEntry
from certwright.bundles.catalogue import load
from certwright.bundles.configmap import LABEL, from_config_map
from certwright.bundles.errors import BundleError
from certwright.bundles.sources import PackedBundle, bundle_set, read_folder
from certwright.cli.apply.inputs import read_manifests
from certwright.cli.certmanager.fields import unknown_fields
from certwright.cli.errors import UsageError
from certwright.client import Client, TransportError
from certwright.clock import SYSTEM, Clock
from certwright.kube import ApiError, JsonObject, Key, NotFound, Object, crd_manifest
from certwright.kube.kinds import ConfigMap
from certwright.operators.certmanager.engine.port import InstallKind, SourceError
from certwright.operators.certmanager.ibm.kind import CertManagerKind
from certwright.operators.certmanager.preview import InstallPreview, preview
from certwright.operators.certmanager.redhat.kind import DeploymentKind
from certwright.operators.certmanager.request import InstallRequest
from certwright.operators.certmanager.source import BundleSource

KINDS: Final[dict[str, tuple[type[Object], InstallKind[Any]]]] = {
    "CertManagerDeployment": (CertManagerDeployment, DeploymentKind({})),
    "CertManager": (CertManagerInstallation, CertManagerKind({})),
}
"""The custom resources that ask for an installation, and how each is read."""
NAMES: Final = {"CertManagerDeployment": "cluster", "CertManager": "default"}
"""The one object of each kind that counts."""
_NONE: Final = "there is no CertManagerDeployment and no CertManager in this cluster"


@dataclass(frozen=True, slots=True)
class Asked:
    """A custom resource, and how its kind is read."""

    kind: InstallKind[Any]
    resource: Object
    stored: bool = False
    """Whether it is in the cluster, or only in a file."""

    @property
    def name(self) -> str:
        """How messages name it."""
        return f"{type(self.resource).resource.kind} {self.resource.key}"

    def request(self, source: BundleSource) -> InstallRequest:
        """Return what it asks for; `UsageError` if that cannot be told, or it does not count."""
        if (trouble := self.kind.rejected(self.resource)) is not None:
            raise UsageError(f"{self.name}: {trouble.message}")
        with source_errors():
            return self.kind.request(self.resource, source.default)

    async def preview(
        self,
        client: Client,
        request: InstallRequest,
        source: BundleSource,
        *,
        clock: Clock = SYSTEM,
        on_entry: OnEntry | None = None,
    ) -> InstallPreview:
        """Return what the operator would do with it; `UsageError` if its version is not there."""
        with source_errors():
            return await preview(
                client,
                self.resource,
                self.kind,
                request,
                source,
                load(),
                clock=clock,
                on_entry=on_entry,
            )


def read_file(path: str) -> Asked:
    """Return the custom resource that a file holds, beside whatever else; `UsageError` if none."""
    fitting = [one.obj for one in read_manifests([path]) if one.obj["kind"] in KINDS]
    if len(fitting) != 1:
        found = f"{len(fitting)} of them" if fitting else "none"
        raise UsageError(f"{path}: one {' or '.join(KINDS)} is expected, and there is {found}")
    asked = decoded(fitting[0], path)
    for line in ignored_fields(fitting[0], type(asked.resource)):
        print(f"warning: {path}: {line}", file=sys.stderr)
    return asked


def ignored_fields(obj: JsonObject, kind: type[Object]) -> Iterator[str]:
    """Yield a sentence for each field of the spec that the kind does not have."""
    [version] = [
        one
        for one in crd_manifest(kind)["spec"]["versions"]
        if one["name"] == kind.resource.version
    ]
    schema = version["schema"]["openAPIV3Schema"]["properties"]["spec"]
    for path in unknown_fields(obj.get("spec"), schema, "spec"):
        yield f"{path} is not a field of {kind.resource.kind}, and is ignored"


async def read_cluster(client: Client, advice: str = "create one") -> Asked:
    """Return the custom resource of the cluster, the first kind that has one.

    *advice* is what to do if there is none.
    """
    for kind, name in NAMES.items():
        typed, _ = KINDS[kind]
        try:
            found = await client.get(typed.resource, Key("", name))
        except NotFound:
            continue
        head = {"apiVersion": typed.resource.api_version, "kind": kind}
        return decoded({**head, **found}, f"{kind} {name}", stored=True)
    raise UsageError(f"{_NONE}; {advice}")


async def read_either(client: Client, path: str) -> Asked:
    """Return the custom resource of a file, with the status it has in the cluster, or that one."""
    if not path:
        return await read_cluster(client, "name a file with -f")
    asked = read_file(path)
    try:
        live = await client.get(type(asked.resource).resource, asked.resource.key)
    except NotFound:
        return asked
    obj: JsonObject = msgspec.to_builtins(asked.resource)
    return decoded({**obj, "metadata": live["metadata"], "status": live.get("status") or {}}, path)


def decoded(obj: JsonObject, origin: str, *, stored: bool = False) -> Asked:
    """Return a custom resource, typed; `UsageError` if a field does not fit."""
    typed, kind = KINDS[str(obj["kind"])]
    if obj["apiVersion"] != typed.resource.api_version:
        known = typed.resource.api_version
        raise UsageError(f"{origin}: its apiVersion is {obj['apiVersion']} instead of {known}")
    try:
        return Asked(kind, msgspec.convert(obj, typed), stored)
    except msgspec.ValidationError as error:
        raise UsageError(f"{origin}: {error}") from error


def source_of(folder: Path, others: Iterable[PackedBundle | BundleError] = ()) -> BundleSource:
    """Return the bundles of a folder, and others, as operators use them."""
    catalogue = load()
    inside = read_folder(folder) if folder.is_dir() else []
    found = bundle_set([*inside, *others], catalogue)
    return BundleSource(lambda: found, catalogue)


async def published(client: Client) -> Sequence[PackedBundle | BundleError]:
    """Return the bundles that are published in a cluster, none if they may not be read."""
    try:
        found = await client.list(ConfigMap, "", labels=LABEL)
    except (ApiError, TransportError):
        return []
    bundles: list[PackedBundle | BundleError] = []
    for item in found.items:
        try:
            bundles.append(from_config_map(item))
        except BundleError as error:
            bundles.append(error)
    return bundles


@contextmanager
def source_errors() -> Iterator[None]:
    """Report what cannot be had as a mistake that a person can correct."""
    try:
        yield
    except SourceError as error:
        raise UsageError(str(error)) from error
