"""What the played controller writes: statuses of issuers and Certificates, and Secrets. Pure."""

import base64
from collections.abc import Mapping
from datetime import datetime
from typing import Final

from certwright import pki
from certwright.apiserver.http.certs import KeyPair
from certwright.kube import JsonObject, Key, format_time
from certwright.testkit.actors.certmanager.keypairs import self_signed_pair, signed_pair
from certwright.testkit.actors.certmanager.world import GROUPS

_UP_TO_DATE: Final = "Certificate is up to date and has not expired"
_MISSING: Final = "Issuing certificate as Secret does not exist"


def is_ready(obj: JsonObject) -> bool:
    """Return whether an object is ready, in its present generation."""
    conditions = (obj.get("status") or {}).get("conditions") or ()
    ready: JsonObject = next((each for each in conditions if each.get("type") == "Ready"), {})
    current = ready.get("observedGeneration", 0) in {0, obj["metadata"].get("generation")}
    return bool(ready.get("status") == "True" and current)


def issuer_status(issuer: JsonObject, authority: JsonObject | None, now: datetime) -> JsonObject:
    """Return the status of an issuer; *authority* is the Secret of one that signs with it."""
    spec = issuer.get("spec") or {}
    if spec.get("selfSigned") is not None:
        words = ("True", "IsReady", "")
    elif spec.get("ca") is not None and _pair(authority) is not None:
        words = ("True", "KeyPairVerified", "Signing CA verified")
    elif spec.get("ca") is not None:
        name = spec["ca"].get("secretName", "")
        message = f'Error getting keypair for CA issuer: secrets "{name}" not found'
        words = ("False", "ErrGetKeyPair", message)
    else:
        words = ("False", "NotPlayed", "only selfSigned and ca are played")
    return _with_ready(issuer, words, now)


def waiting_status(certificate: JsonObject, now: datetime) -> JsonObject:
    """Return the status of a Certificate that has no Secret yet."""
    return _with_ready(certificate, ("False", "DoesNotExist", _MISSING), now)


def issued_status(certificate: JsonObject, secret: JsonObject, now: datetime) -> JsonObject:
    """Return the status of a Certificate whose Secret holds what it should."""
    leaf = pki.read_certificates(base64.b64decode(secret["data"]["tls.crt"]))[0]
    validity = pki.Validity.of(leaf)
    renewal = validity.not_after - validity.lifetime / 3
    revision = secret["metadata"]["annotations"].get(_revision(certificate), "1")
    status = _with_ready(certificate, ("True", "Ready", _UP_TO_DATE), now)
    return {
        **status,
        "notBefore": format_time(validity.not_before),
        "notAfter": format_time(validity.not_after),
        "renewalTime": format_time(renewal),
        "revision": int(revision),
    }


def belongs(certificate: JsonObject, secret: JsonObject | None) -> bool:
    """Return whether a Secret holds a certificate that was issued for a Certificate as it is."""
    if secret is None or not (secret.get("data") or {}).get("tls.crt"):
        return False
    annotations = secret["metadata"].get("annotations") or {}
    wanted = _annotations(certificate)
    return bool(wanted.items() <= annotations.items())


def issued_secret(
    certificate: JsonObject, issuer: JsonObject, authority: JsonObject | None, revision: int
) -> JsonObject | None:
    """Return the Secret of a Certificate; None if its issuer cannot sign."""
    spec, metadata = certificate["spec"], certificate["metadata"]
    hosts = (*spec.get("dnsNames", ()), *spec.get("ipAddresses", ()))
    name: str = spec.get("commonName") or (hosts[0] if hosts else metadata["name"])
    signer = _pair(authority)
    made: KeyPair | None
    if (issuer.get("spec") or {}).get("selfSigned") is not None:
        made = self_signed_pair(name, hosts, revision)
        signer = made
    else:
        made = signed_pair(signer.certificate, signer.key, name, hosts) if signer else None
    if made is None or signer is None:
        return None
    parts = {"tls.crt": made.certificate, "tls.key": made.key, "ca.crt": signer.certificate}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": spec["secretName"],
            "namespace": metadata["namespace"],
            "annotations": {**_annotations(certificate), _revision(certificate): str(revision)},
        },
        "type": "kubernetes.io/tls",
        "data": {part: base64.b64encode(value).decode() for part, value in parts.items()},
    }


def webhook_secret(key: Key, pair: KeyPair, authority: KeyPair) -> JsonObject:
    """Return a Secret that a webhook serves with, or its authority."""
    parts = {"tls.crt": pair.certificate, "tls.key": pair.key, "ca.crt": authority.certificate}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": key.name,
            "namespace": key.namespace,
            "annotations": {f"{GROUPS[1]}/allow-direct-injection": "true"},
        },
        "type": "kubernetes.io/tls",
        "data": {part: base64.b64encode(value).decode() for part, value in parts.items()},
    }


def next_revision(certificate: JsonObject) -> int:
    """Return the number of the next issuance."""
    return int((certificate.get("status") or {}).get("revision") or 0) + 1


def _annotations(certificate: JsonObject) -> dict[str, str]:
    spec, group = certificate["spec"], certificate["apiVersion"].partition("/")[0]
    reference: Mapping[str, str] = spec.get("issuerRef") or {}
    return {
        f"{group}/certificate-name": certificate["metadata"]["name"],
        f"{group}/issuer-name": reference.get("name", ""),
        f"{group}/issuer-kind": reference.get("kind") or "Issuer",
        f"{group}/common-name": spec.get("commonName", ""),
        f"{group}/alt-names": ",".join(spec.get("dnsNames", ())),
        f"{group}/ip-sans": ",".join(spec.get("ipAddresses", ())),
    }


def _revision(certificate: JsonObject) -> str:
    return f"{certificate['apiVersion'].partition('/')[0]}/certificate-revision"


def _with_ready(obj: JsonObject, words: tuple[str, str, str], now: datetime) -> JsonObject:
    before: JsonObject = obj.get("status") or {}
    conditions = list(before.get("conditions") or ())
    old: JsonObject = next((each for each in conditions if each.get("type") == "Ready"), {})
    value, reason, message = words
    since = old["lastTransitionTime"] if old.get("status") == value else format_time(now)
    ready = {
        "type": "Ready", "status": value, "reason": reason, "message": message,
        "lastTransitionTime": since, "observedGeneration": obj["metadata"].get("generation", 1),
    }  # fmt: skip
    kept = [each for each in conditions if each.get("type") != "Ready"]
    return {**before, "conditions": [*kept, ready]}


def _pair(secret: JsonObject | None) -> KeyPair | None:
    data = (secret or {}).get("data") or {}
    if not data.get("tls.crt") or not data.get("tls.key"):
        return None
    return KeyPair(base64.b64decode(data["tls.crt"]), base64.b64decode(data["tls.key"]))
