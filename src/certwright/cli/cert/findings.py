"""What is wrong with what was found: every finding has a severity, a name and a sentence."""

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple

from cryptography import x509
from msgspec import Struct

from certwright import pki
from certwright.cli.cert.material import Material
from certwright.pki.certificates import alternative_names, public_key_of, usages_of
from certwright.pki.keys import public_key_bytes
from certwright.pki.matches import chain_violations
from certwright.pki.requests import request_violations


class Severity(StrEnum):
    """How bad it is. Errors make the command fail."""

    ERROR = "error"
    WARNING = "warning"
    NOTICE = "notice"


class Finding(Struct, frozen=True):
    """Something worth knowing; *certificate* is its number, 0 if it is about the whole."""

    severity: Severity
    name: str
    message: str
    certificate: int = 0


_HARMLESS = {"RootInChain": Severity.NOTICE, "RepeatedCertificate": Severity.WARNING}


class Horizon(NamedTuple):
    """From when on an expiry is near, and how bad that is."""

    within: timedelta = timedelta(days=30)
    severity: Severity = Severity.WARNING


def findings_in(material: Material, now: datetime, horizon: Horizon) -> list[Finding]:
    """Return what is wrong, worst first."""
    found = [
        *_about_each(material.certificates, now, horizon),
        *_about_the_key(material),
        *_about_the_chain(material, now),
        *_about_the_request(material, now),
    ]
    order = list(Severity)
    once = dict.fromkeys(found)
    return sorted(once, key=lambda one: (order.index(one.severity), one.certificate))


def _about_each(
    certificates: Iterable[x509.Certificate], now: datetime, horizon: Horizon
) -> Iterator[Finding]:
    for number, one in enumerate(certificates, 1):
        validity = pki.Validity.of(one)
        if now > validity.not_after:
            yield Finding(Severity.ERROR, "Expired", f"since {_date(validity.not_after)}", number)
        elif now < validity.not_before:
            text = f"valid from {_date(validity.not_before)} on"
            yield Finding(Severity.ERROR, "NotYetValid", text, number)
        elif validity.not_after - now < horizon.within:
            text = f"valid until {_date(validity.not_after)} only"
            yield Finding(horizon.severity, "ExpiresSoon", text, number)
        try:
            public_key_of(one)
        except pki.UnsupportedKey as error:
            yield Finding(Severity.ERROR, "UnsupportedKey", str(error), number)
        if "server auth" in usages_of(one).extended_words() and not alternative_names(one):
            text = "a server without alternative names is believed by nobody"
            yield Finding(Severity.WARNING, "NoAlternativeNames", text, number)


def _about_the_key(material: Material) -> Iterator[Finding]:
    if material.key is None:
        return
    own = public_key_bytes(material.key.public_key())
    if material.certificates:
        try:
            pki.check_key_pair(material.certificates[0], material.key)
        except pki.CertificateRefused:
            text = "the private key is not the one of the first certificate"
            yield Finding(Severity.ERROR, "KeyMismatch", text, 1)
    if material.request is not None and own != public_key_bytes(material.request.public_key):
        text = "the private key is not the one of the signing request"
        yield Finding(Severity.ERROR, "KeyMismatch", text)


def _about_the_chain(material: Material, now: datetime) -> Iterator[Finding]:
    if not material.certificates or is_bundle(material):
        return
    for violation in chain_violations(material.certificates):
        severity = _HARMLESS.get(violation.name, Severity.ERROR)
        yield Finding(severity, violation.name, violation.message)
    if material.trusted:
        leaf, *rest = material.certificates
        try:
            pki.verify_path(leaf, roots=material.trusted, intermediates=rest, now=now)
        except pki.PathRefused as refusal:
            for violation in refusal.violations:
                yield Finding(Severity.ERROR, violation.name, violation.message)


def _about_the_request(material: Material, now: datetime) -> Iterator[Finding]:
    if material.request is None:
        return
    terms = material.terms
    if terms is not None:
        for violation in request_violations(material.request, terms):
            yield Finding(Severity.ERROR, violation.name, violation.message)
        for one in material.certificates[:1]:
            for violation in pki.certificate_violations(one, material.request, terms, now):
                yield Finding(Severity.ERROR, violation.name, violation.message, 1)


def is_bundle(material: Material) -> bool:
    """Whether these are roots to be trusted, not a chain."""
    several = len(material.certificates) > 1
    return several and all(one.subject == one.issuer for one in material.certificates)


def _date(instant: datetime) -> str:
    return f"{instant:%Y-%m-%d %H:%M} UTC"
