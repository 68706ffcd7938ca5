"""The CustomResourceDefinitions of ``certmanager.k8s.io``.

They were written for ``apiextensions/v1beta1``, which servers have not had since 1.22. These say
the same in ``v1``: any field is kept, for 0.10 checks objects itself.
"""

from typing import Final

from certwright.kube import JsonObject
from certwright.operators.certmanager.request import Component
from certwright.operators.certmanager.v010.names import GROUP, labels

_KINDS: Final = (
    ("Certificate", True, ("cert", "certs")),
    ("Issuer", True, ()),
    ("ClusterIssuer", False, ()),
    ("Order", True, ()),
    ("Challenge", True, ()),
    ("CertificateRequest", True, ("cr", "crs")),
)


def definitions() -> list[JsonObject]:
    """Return the definitions, in the order in which they are created."""
    return [_definition(*one) for one in _KINDS]


def _definition(kind: str, namespaced: bool, short_names: tuple[str, ...]) -> JsonObject:  # noqa: FBT001
    singular = kind.lower()
    names = {"kind": kind, "listKind": f"{kind}List", "plural": f"{singular}s"}
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version: JsonObject = {
        "name": "v1alpha1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
    }
    if kind == "CertificateRequest":  # the only one whose status 0.10 writes on its own
        version["subresources"] = {"status": {}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{singular}s.{GROUP}", "labels": labels(Component.CONTROLLER)},
        "spec": {
            "group": GROUP,
            "names": {
                **names,
                "singular": singular,
                **({"shortNames": list(short_names)} if short_names else {}),
            },
            "scope": "Namespaced" if namespaced else "Cluster",
            "versions": [version],
        },
    }
