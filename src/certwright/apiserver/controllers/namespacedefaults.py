"""What controllers put into every namespace: a default ServiceAccount and the server's CA."""

from typing import Final

from certwright.apiserver.backend import Backend
from certwright.apiserver.http.options import WriteParameters
from certwright.apiserver.storage.storage import ChangeType, StoredChange
from certwright.apiserver.writes.writes import ObjectWriter

_NAMESPACES: Final = ("", "namespaces")
_ROOT_CA: Final = "kube-root-ca.crt"
_DESCRIPTION: Final = (
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal "
    "endpoints such as the internal service IP or kubernetes.default.svc. No other usage is "
    "guaranteed across distributions of Kubernetes clusters."
)


class NamespaceDefaults:
    """Furnishes namespaces; part of the server's background."""

    def __init__(self, backend: Backend, writes: ObjectWriter) -> None:
        self._backend = backend
        self._writes = writes
        self._authority = ""

    def concerns(self, change: StoredChange) -> str:
        """Return the namespace to create_missing following a change; empty for none."""
        record = change.record
        resource = record.kind.resource
        if (resource.group, resource.plural) == _NAMESPACES:
            return "" if change.type is ChangeType.DELETED else record.name
        if change.type is ChangeType.DELETED and (
            (resource.qualified, record.name)
            in {("serviceaccounts", "default"), ("configmaps", _ROOT_CA)}
        ):
            return record.namespace
        return ""

    def publish(self, authority: bytes) -> None:
        """Write the certificate of the server into every namespace."""
        self._authority = authority.decode()
        for record in list(self._backend.storage.collection(*_NAMESPACES).records()):
            self.create_missing(record.name)

    def create_missing(self, namespace: str) -> None:
        """Create what a namespace should hold and does not."""
        record = self._backend.storage.collection(*_NAMESPACES).get(namespace)
        if record is None or record.metadata.get("deletionTimestamp"):
            return
        options = WriteParameters("kube-controller-manager", "Ignore")
        accounts = self._backend.registry.find("", "v1", "serviceaccounts")
        if accounts is not None and self._backend.find(accounts, namespace, "default") is None:
            account = {
                "apiVersion": "v1",
                "kind": "ServiceAccount",
                "metadata": {"name": "default"},
            }
            # It is created empty, so its fields have no owner.
            self._writes.create(accounts, namespace, account, options)
        self._create_authority(namespace, options)

    def _create_authority(self, namespace: str, options: WriteParameters) -> None:
        maps = self._backend.registry.find("", "v1", "configmaps")
        if maps is None:
            return
        wanted = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {
                "name": _ROOT_CA,
                "namespace": namespace,
                "annotations": {"kubernetes.io/description": _DESCRIPTION},
            },
            "data": {"ca.crt": self._authority},
        }
        record = self._backend.find(maps, namespace, _ROOT_CA)
        if record is None:
            self._writes.create(maps, namespace, wanted, options)
        elif record.obj.get("data") != wanted["data"]:
            self._writes.update(maps, record, wanted, options)
