"""What is wrong with what was found: every diagnostic has a severity, a name and a sentence."""

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple

from cryptography import x509
from msgspec import Struct

from certwright import pki
from certwright.cli.cert.contents import Contents
from certwright.pki.certificates import alternative_names, public_key_of, usages_of
from certwright.pki.keys import public_key_bytes
from certwright.pki.matches import chain_violations
from certwright.pki.requests import request_violations


class Severity(StrEnum):
    """How bad it is. Errors make the command fail."""

    ERROR = "error"
    WARNING = "warning"
    NOTICE = "notice"


class Diagnostic(Struct, frozen=True):
    """One problem; *certificate* is its number, 0 if it is about the whole."""

    severity: Severity
    name: str
    message: str
    certificate: int = 0


_HARMLESS = {"RootInChain": Severity.NOTICE, "RepeatedCertificate": Severity.WARNING}


class Horizon(NamedTuple):
    """From when on an expiry is near, and how bad that is."""

    within: timedelta = timedelta(days=30)
    severity: Severity = Severity.WARNING


def diagnose(contents: Contents, now: datetime, horizon: Horizon) -> list[Diagnostic]:
    """Return what is wrong, worst first."""
    found = [
        *_about_each(contents.certificates, now, horizon),
        *_about_the_key(contents),
        *_about_the_chain(contents, now),
        *_about_the_request(contents, now),
    ]
    order = list(Severity)
    once = dict.fromkeys(found)
    return sorted(once, key=lambda one: (order.index(one.severity), one.certificate))


def _about_each(
    certificates: Iterable[x509.Certificate], now: datetime, horizon: Horizon
) -> Iterator[Diagnostic]:
    for number, one in enumerate(certificates, 1):
        validity = pki.Validity.of(one)
        if now > validity.not_after:
            yield Diagnostic(
                Severity.ERROR, "Expired", f"since {_date(validity.not_after)}", number
            )
        elif now < validity.not_before:
            text = f"not valid before {_date(validity.not_before)}"
            yield Diagnostic(Severity.ERROR, "NotYetValid", text, number)
        elif validity.not_after - now < horizon.within:
            text = f"valid until {_date(validity.not_after)} only"
            yield Diagnostic(horizon.severity, "ExpiresSoon", text, number)
        try:
            public_key_of(one)
        except pki.UnsupportedKey as error:
            yield Diagnostic(Severity.ERROR, "UnsupportedKey", str(error), number)
        if "server auth" in usages_of(one).extended_words() and not alternative_names(one):
            text = "clients do not accept a server certificate without alternative names"
            yield Diagnostic(Severity.WARNING, "NoAlternativeNames", text, number)


def _about_the_key(contents: Contents) -> Iterator[Diagnostic]:
    if contents.key is None:
        return
    own = public_key_bytes(contents.key.public_key())
    if contents.certificates:
        try:
            pki.check_key_pair(contents.certificates[0], contents.key)
        except pki.CertificateRefused:
            text = "the private key is not the one of the first certificate"
            yield Diagnostic(Severity.ERROR, "KeyMismatch", text, 1)
    if contents.request is not None and own != public_key_bytes(contents.request.public_key):
        text = "the private key is not the one of the signing request"
        yield Diagnostic(Severity.ERROR, "KeyMismatch", text)


def _about_the_chain(contents: Contents, now: datetime) -> Iterator[Diagnostic]:
    if not contents.certificates or is_bundle(contents):
        return
    for violation in chain_violations(contents.certificates):
        severity = _HARMLESS.get(violation.name, Severity.ERROR)
        yield Diagnostic(severity, violation.name, violation.message)
    if contents.trusted:
        leaf, *rest = contents.certificates
        try:
            pki.verify_path(leaf, roots=contents.trusted, intermediates=rest, now=now)
        except pki.PathRefused as refusal:
            for violation in refusal.violations:
                yield Diagnostic(Severity.ERROR, violation.name, violation.message)


def _about_the_request(contents: Contents, now: datetime) -> Iterator[Diagnostic]:
    if contents.request is None:
        return
    terms = contents.terms
    if terms is not None:
        for violation in request_violations(contents.request, terms):
            yield Diagnostic(Severity.ERROR, violation.name, violation.message)
        for one in contents.certificates[:1]:
            for violation in pki.certificate_violations(one, contents.request, terms, now):
                yield Diagnostic(Severity.ERROR, violation.name, violation.message, 1)


def is_bundle(contents: Contents) -> bool:
    """Return whether these are roots to be trusted, not a chain."""
    several = len(contents.certificates) > 1
    return several and all(one.subject == one.issuer for one in contents.certificates)


def _date(instant: datetime) -> str:
    return f"{instant:%Y-%m-%d %H:%M} UTC"
