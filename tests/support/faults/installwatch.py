"""What must not happen while an installation is simulated, whatever goes wrong."""

from collections.abc import Iterator

from certwright.kube import JsonObject, Resource
from certwright.kube.kinds import ClusterRole, ConfigMap, Service
from certwright.testkit import EmbeddedCluster

_REGISTRATIONS = frozenset({"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"})
_LOOKS_LIKE_OURS: JsonObject = {
    "labels": {
        "app.kubernetes.io/instance": "cert-manager",
        "operators.redhat.io/kept-by": "certmanagerdeployment-operator",
    },
    "annotations": {"operators.redhat.io/owner": "another"},
}
_BYSTANDERS: tuple[tuple[Resource, str, JsonObject], ...] = (
    (ClusterRole, "cert-manager-theirs", {"rules": []}),
    (Service, "cert-manager-theirs", {"spec": {"ports": [{"port": 80}]}}),
    (ConfigMap, "theirs", {"data": {"a": "b"}}),
)


class InstallWatch:
    """Watches a cluster from the beginning of a run."""

    def __init__(self, cluster: EmbeddedCluster) -> None:
        self._cluster = cluster
        self._versions: list[str] = []
        self.deleted_definitions: list[str] = []
        self.emptied: list[str] = []
        """Registrations that lost their caBundle: from then on writes are refused."""
        cluster.server.on_change(self._observe)

    async def place_bystanders(self) -> None:
        """Create objects of others that look like ours."""
        for kind, name, content in _BYSTANDERS:
            head = {"apiVersion": kind.api_version, "kind": kind.kind}
            metadata = {**_LOOKS_LIKE_OURS, "name": name}
            await self._cluster.create({**head, "metadata": metadata, **content})
        self._versions = await self._read()

    async def judge(self, deleted_definitions: int) -> None:
        """Fail if something happened that must not; so many definitions were meant to go."""
        assert await self._read() == self._versions, "a foreign object was touched"
        gone = self.deleted_definitions
        assert len(gone) == deleted_definitions, f"definitions were deleted: {gone}"
        assert not self.emptied, f"a caBundle was emptied: {self.emptied}"

    async def _read(self) -> list[str]:
        found = [await self._cluster.get(kind, name) for kind, name, _ in _BYSTANDERS]
        return [str(one["metadata"]["resourceVersion"]) for one in found]

    def _observe(self, before: JsonObject | None, after: JsonObject | None) -> None:
        if before is None:
            return
        kind, name = before["kind"], before["metadata"]["name"]
        if after is None:
            if kind == "CustomResourceDefinition":
                self.deleted_definitions.append(name)
        elif kind in _REGISTRATIONS and all(_bundles(before)) and not all(_bundles(after)):
            self.emptied.append(f"{kind} {name}")


def _bundles(registration: JsonObject) -> Iterator[str]:
    for webhook in registration.get("webhooks") or ():
        yield str(webhook["clientConfig"].get("caBundle") or "")
