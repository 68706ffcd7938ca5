"""May a requester use an issuer of a namespace: asked of the API server, cert-manager's way."""

from typing import Any

from certwright.api.certificates import CertificateSigningRequest
from certwright.api.certmanager import GROUP
from certwright.client import Client
from certwright.issuer.requests.desk import Asked
from certwright.issuer.requests.match import IssuerAt
from certwright.issuer.sign.verdicts import Result, Verdict
from certwright.kube import JsonObject
from certwright.kube.kinds import SubjectAccessReview


async def may_reference(client: Client, asked: Asked, at: IssuerAt) -> Verdict | None:
    """Return the refusal where a signing request means a namespaced issuer without the right.

    Signing requests have no namespace: without this check, whoever may create one could use
    the issuers of every namespace.
    """
    if not isinstance(asked.typed, CertificateSigningRequest) or not at.kind.namespaced:
        return None
    for name in (at.key.name, "*"):
        answer = await client.create(reference_review(asked.typed.spec, at, name))
        if (answer.get("status") or {}).get("allowed"):
            return None
    return Verdict(
        result=Result.FAILED,
        text=f"Requester may not reference Namespaced Issuer {at.key}",
        reason="DeniedReference",
    )


def reference_review(spec: Any, at: IssuerAt, name: str) -> JsonObject:
    """Return the question whether the requester may refer to an issuer of this name."""
    return {
        "apiVersion": SubjectAccessReview.api_version,
        "kind": SubjectAccessReview.kind,
        "spec": {
            "user": spec.username,
            "uid": spec.uid,
            "groups": list(spec.groups),
            "extra": dict(spec.extra),
            "resourceAttributes": {
                "group": GROUP,
                "resource": "signers",
                "verb": "reference",
                "namespace": at.key.namespace,
                "name": name,
                "version": "*",
            },
        },
    }
