"""Operators that run along in ``certwright up``, each with sample objects and commands to try."""

from base64 import b64encode
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

import yaml

from certwright import pki
from certwright.api.certmanager import CertificateRequest
from certwright.api.managedresources import ManagedResource
from certwright.cli.up.accounts import OperatorAccount
from certwright.client import Client
from certwright.clock import SYSTEM
from certwright.issuers.ca import app
from certwright.kube import JsonObject, Object, Resource
from certwright.kube.kinds import ConfigMap, Deployment, RoleBinding, Secret
from certwright.operators.managedresource import load_with_flags, resource_operator
from certwright.testkit.actors import approver

NAME: Final = "sample"
MANAGED: Final = "managed-resources"
"""The ServiceAccount as which ManagedResources write."""


@dataclass(frozen=True, slots=True)
class Demo:
    """Operators with their kinds, sample objects, and commands to try."""

    accounts: Sequence[OperatorAccount]
    """What runs, each part under a ServiceAccount of its own."""
    kinds: Sequence[type[Object]]
    objects: Callable[[], list[JsonObject]]
    introduction: str
    suggestions: Callable[[str], list[str]]
    """Takes the command to type for kubectl."""
    grants: Sequence[JsonObject] = ()
    """What is created before it starts, such as bindings."""
    later: Callable[[Client], Awaitable[None]] | None = None
    """Adds samples that have to wait for those before."""


def managed_resource_demo() -> Demo:
    """Return the ManagedResource operator and a ManagedResource.

    As in the manifest that the documentation installs, objects are written as a ServiceAccount of
    the namespace of their ManagedResource; that of the namespace default may edit what is there.
    """
    flags = {"--default-service-account": MANAGED}
    operator = resource_operator(load_with_flags({}, flags).configuration)
    return Demo(
        accounts=[OperatorAccount("resource-manager", [operator])],
        kinds=[ManagedResource],
        objects=managed_sample,
        introduction="A ManagedResource keeps its objects as declared. Try:",
        suggestions=_managed_suggestions,
        grants=[_edit_binding(MANAGED)],
    )


def _edit_binding(account: str) -> JsonObject:
    reference = {"apiGroup": RoleBinding.group, "kind": "ClusterRole", "name": "edit"}
    subject = {"kind": "ServiceAccount", "namespace": "default", "name": account}
    return _object(RoleBinding, account) | {"roleRef": reference, "subjects": [subject]}


def issuer_demo(*, approve: bool = True) -> Demo:
    """Return an issuer of certificates and, unless that is left to people, what approves requests.

    Without *approve*, the sample waits until a person approves it.
    """
    approving = [OperatorAccount("approver", [approver()])] if approve else []
    done, waits = (
        "An issuer has signed a CertificateRequest.",
        "A CertificateRequest waits for you.",
    )
    return Demo(
        accounts=[OperatorAccount(app.name, [app.operator]), *approving],
        kinds=[CertificateRequest, *app.kinds],
        objects=lambda: issuer_sample(SYSTEM.now()),
        introduction=f"{done if approve else waits} Try:",
        suggestions=_issuer_suggestions if approve else _approval_suggestions,
    )


def managed_sample() -> list[JsonObject]:
    """Return a Secret with two objects, and the ManagedResource that keeps them."""
    settings, labels = f"{NAME}-settings", {"app": NAME}
    container = {"name": "web", "image": "nginx", "envFrom": [{"configMapRef": {"name": settings}}]}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    web = {"replicas": 2, "selector": {"matchLabels": labels}, "template": template}
    objects = [
        _object(ConfigMap, settings, data={"color": "blue"}),
        _object(Deployment, f"{NAME}-web", spec=web),
    ]
    text = yaml.safe_dump_all(objects, sort_keys=False)
    return [
        _object(Secret, NAME, stringData={"objects.yaml": text}),
        _object(ManagedResource.resource, NAME, spec={"secretRefs": [{"name": NAME}]}),
    ]


def issuer_sample(now: datetime) -> list[JsonObject]:
    """Return a Secret with a new authority, the issuer that signs with it, and a request."""
    key = pki.generate_key(pki.KeySpec())
    root = pki.create_root(pki.parse_name("CN=Sample CA"), key, timedelta(days=365), now)
    pair = {
        "tls.crt": _encoded(pki.write_certificates(root.certificate)),
        "tls.key": _encoded(pki.write_key(key)),
    }
    kind = _issuer_kind()
    request = {
        "request": _encoded(_signing_request()),
        "issuerRef": {"name": NAME, "kind": kind.kind, "group": kind.group},
        "usages": ["digital signature", "server auth"],
    }
    return [
        _object(Secret, f"{NAME}-ca", data=pair),
        _object(kind, NAME, spec={"authorities": [{"name": f"{NAME}-ca"}]}),
        _object(CertificateRequest.resource, NAME, spec=request),
    ]


def _managed_suggestions(kubectl: str) -> list[str]:
    merge = f"{kubectl} patch managedresource {NAME} --type merge -p"
    edit = f"{kubectl} patch configmap {NAME}-settings -p"
    return [
        f"certwright mr explain {NAME}   # a ManagedResource and its objects",
        f"""{edit} '{{"data":{{"color":"red"}}}}'   # it becomes blue again""",
        f"{kubectl} delete deployment {NAME}-web   # it comes back",
        f"""{merge} '{{"spec":{{"suspend":true}}}}'   # suspend it, edit again, and compare:""",
        f"certwright mr diff {NAME}   # what the next pass would change",
    ]


def _issuer_suggestions(kubectl: str) -> list[str]:
    issuers = f"{_issuer_kind().plural},certificaterequests"
    return [
        f"{kubectl} get {issuers}   # an issuer, and what it signed",
        f"certwright cert inspect cr/{NAME}   # the certificate, its chain, does it match",
        f"{kubectl} delete secret {NAME}-ca   # the issuer reports what is missing",
    ]


def _approval_suggestions(kubectl: str) -> list[str]:
    condition = '{"type":"Approved","status":"True","reason":"Reviewed","message":"by me"}'
    patch = f'{{"status":{{"conditions":[{condition}]}}}}'
    approve = f"{kubectl} patch certificaterequest {NAME} --subresource=status --type=merge"
    return [f"{approve} -p '{patch}'   # approve it", *_issuer_suggestions(kubectl)]


def _object(kind: Resource, name: str, **fields: JsonObject) -> JsonObject:
    metadata = {"namespace": "default", "name": name}
    return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata, **fields}


def _issuer_kind() -> Resource:
    assert app.namespaced_kind is not None
    return app.namespaced_kind.resource


def _signing_request() -> bytes:
    names = pki.AlternativeNames.of_hosts("sample.default.svc")
    key = pki.generate_key(pki.KeySpec())
    return pki.write_request(pki.build_request(key, pki.parse_name("CN=sample"), names))


def _encoded(data: bytes) -> str:
    return b64encode(data).decode()
