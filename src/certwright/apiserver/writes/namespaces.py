"""Whether a namespace takes new objects."""

from typing import Final

from certwright.apiserver.backend import Backend
from certwright.apiserver.kinds.kind import ServedKind
from certwright.apiserver.refusals import forbidden
from certwright.kube.errors import Cause, Forbidden, NotFound
from certwright.kube.objects import JsonObject

_NAMESPACES: Final = ("", "namespaces")


def check_namespace(backend: Backend, kind: ServedKind, metadata: JsonObject) -> None:
    """Refuse new content where there is no namespace, or one that is going away."""
    if not kind.resource.namespaced:
        return
    namespace = metadata["namespace"]
    record = backend.storage.collection(*_NAMESPACES).get(namespace)
    if record is None:
        raise NotFound(
            f'namespaces "{namespace}" not found', details={"name": namespace, "kind": "namespaces"}
        )
    if (record.obj.get("status") or {}).get("phase") == "Terminating":
        name = metadata.get("name") or metadata.get("generateName") or "Unknown"
        refusal = forbidden(
            kind.resource,
            name,
            f"unable to create new content in namespace {namespace} because it is being terminated",
        )
        cause = Cause(
            "NamespaceTerminating",
            f"namespace {namespace} is being terminated",
            "metadata.namespace",
        )
        raise Forbidden(refusal.message, causes=[cause], details=refusal.details)
