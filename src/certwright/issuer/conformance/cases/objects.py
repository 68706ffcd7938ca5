"""A case as the objects that request it. Pure."""

import base64
from dataclasses import dataclass, field

from certwright import pki
from certwright.api.certificates import DURATION_ANNOTATION, IS_CA_ANNOTATION
from certwright.api.certmanager import PRIVATE_KEY_SECRET, IssuerRef
from certwright.issuer.conformance.cases.case import Case
from certwright.kube import JsonObject
from certwright.kube.durations import format_duration

USUAL_USAGES = ("digital signature", "key encipherment")

ANNOTATIONS = "conformance.certwright.dev/"
"""What the annotations of the kit begin with."""
APPROVAL_REASON = "Conformance"
"""The reason of the conditions Approved and Denied that the kit writes."""
LABEL = f"{ANNOTATIONS}case"
"""On every request that is made here, so that leftovers can be found."""


@dataclass(frozen=True, slots=True)
class CaseRequest:
    """The signing request of a case, with what the answer is compared to."""

    csr: bytes
    """The signing request, PEM."""
    request: pki.SigningRequest
    terms: pki.RequestTerms
    case: Case
    key: pki.PrivateKey = field(repr=False)


def make_case_request(case: Case, key: pki.PrivateKey) -> CaseRequest:
    """Write the signing request of a case."""
    subject = (
        pki.parse_name(case.subject) if case.subject else pki.distinguished_name(case.common_name)
    )
    terms = terms_of(case)
    usages = terms.usages if case.suite == "CertificateRequest" else None
    csr = pki.build_request(key, subject, case.names, is_ca=case.is_ca, usages=usages)
    text = pki.write_request(csr)
    return CaseRequest(text, pki.read_request(text), terms, case, key)


def terms_of(case: Case) -> pki.RequestTerms:
    """Return what a case asks for beside its signing request.

    For a CertificateRequest, an authority implies the usage of signing certificates;
    Kubernetes' own requests have to list it.
    """
    words = [*(case.usages or USUAL_USAGES)]
    if case.is_ca and case.suite == "CertificateRequest":
        words.append("cert sign")
    return pki.RequestTerms(case.asked_lifetime, case.is_ca, pki.parse_usages(words))


def certificate_request(case: Case, csr: bytes, issuer: IssuerRef, namespace: str) -> JsonObject:
    """Return the CertificateRequest of a case."""
    spec: JsonObject = {
        "request": base64.b64encode(csr).decode(),
        "issuerRef": {"name": issuer.name, "kind": issuer.kind, "group": issuer.group},
    }
    if case.lifetime is not None:
        spec["duration"] = format_duration(case.lifetime)
    if case.usages:
        spec["usages"] = list(case.usages)
    if case.is_ca:
        spec["isCA"] = True
    return {
        "apiVersion": "cert-manager.io/v1",
        "kind": "CertificateRequest",
        "metadata": {"namespace": namespace, **_metadata(case)},
        "spec": spec,
    }


def signing_request(case: Case, csr: bytes, signer: str) -> JsonObject:
    """Return the CertificateSigningRequest of a case."""
    spec: JsonObject = {
        "request": base64.b64encode(csr).decode(),
        "signerName": signer,
        "usages": list(case.usages or USUAL_USAGES),
    }
    if case.expiration_seconds is not None:
        spec["expirationSeconds"] = case.expiration_seconds
    annotations = {}
    if case.lifetime is not None:
        annotations[DURATION_ANNOTATION] = format_duration(case.lifetime)
    if case.is_ca:
        annotations[IS_CA_ANNOTATION] = "true"
    return {
        "apiVersion": "certificates.k8s.io/v1",
        "kind": "CertificateSigningRequest",
        "metadata": {**_metadata(case), "annotations": annotations},
        "spec": spec,
    }


def key_secret(asked: CaseRequest, request: JsonObject) -> JsonObject:
    """Return a Secret with the private key, to be created beside the request."""
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"namespace": request["metadata"]["namespace"], **_metadata(asked.case)},
        "data": {"tls.key": base64.b64encode(pki.write_key(asked.key)).decode()},
    }


def with_key_secret(request: JsonObject, name: str) -> JsonObject:
    """Return a CertificateRequest that names the Secret with its private key."""
    annotations = {PRIVATE_KEY_SECRET: name}
    return {**request, "metadata": {**request["metadata"], "annotations": annotations}}


def _metadata(case: Case) -> JsonObject:
    return {"generateName": "conformance-", "labels": {LABEL: case.slug[:63].strip("-")}}
