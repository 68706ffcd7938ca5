"""Certificates and Issuers of Gardener's certificate management."""

from certwright.apply.health.status import outdated, section, text, violated
from certwright.kube import JsonObject


def certificate_health(obj: JsonObject) -> str:
    """Issued."""
    return violated(obj, "Ready", "True") or issuer_health(obj)


def issuer_health(obj: JsonObject) -> str:
    """In the state ``Ready``."""
    state = text(section(obj, "status"), "state")
    return "" if state == "Ready" else f'state is "{state}" (expected Ready)'


def certificate_progress(obj: JsonObject) -> str:
    """Looked at by its controller since it last changed; of issuers, too."""
    return outdated(obj)
