"""What the certificates contain: subject, names, usages, validity.

Subject, usages and the form of keys are those of marin3r. Besides, clients have the usage client
auth, certificates begin a little before they are made, never outlive their authority, and a URI
names the DiscoveryService and the namespace they are for.
"""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from certwright import pki
from certwright.operators.discoveryservice.certificates.wanted import WantedCertificate
from certwright.pki.authority import self_sign
from certwright.pki.certificates import (
    BACKDATING,
    Certificate,
    alternative_names,
    is_authority,
    public_key_of,
    usages_of,
)
from certwright.pki.keys import accepted_public_key
from certwright.pki.names import DistinguishedName, format_name
from certwright.pki.pairs import CertifiedKey
from certwright.pki.requests import Template
from certwright.pki.usages import Usages

ORGANIZATION: Final = "marin3r.3scale.net"
_LEAD_SHARE: Final = 50

_AUTHORITY: Final = pki.parse_usages(["cert sign"])
_SERVER: Final = pki.parse_usages(["digital signature", "key encipherment", "server auth"])
_CLIENT: Final = pki.parse_usages(["digital signature", "key encipherment", "client auth"])
CLIENT_AUTH: Final = _CLIENT.extended[0]
SERVER_AUTH: Final = _SERVER.extended[0]


class UnfitCertificate(ValueError):
    """A certificate that was just made differs from what is wanted: it would be made for ever."""

    def __init__(self, field: str) -> None:
        super().__init__(
            f"a certificate cannot be made as {field} asks: what comes out is something else;"
            " change this field"
        )
        self.field = field


def lead(lifetime: timedelta) -> timedelta:
    """Return how far before now a certificate begins, for readers whose clock is behind.

    Five minutes, but at most a fiftieth of the lifetime, in whole seconds: so little that the
    window for renewal, a fifth of the certificate, hardly changes.
    """
    return min(BACKDATING, timedelta(seconds=lifetime // timedelta(seconds=1) // _LEAD_SHARE))


def make_certificate(
    wanted: WantedCertificate,
    identity: str,
    issuer: CertifiedKey | None,
    keys: pki.KeySpec,
    now: datetime,
) -> CertifiedKey:
    """Make a new key and have it certified. Slow where ``keys.is_slow``.

    *identity* is the URI that is named besides the hosts; none if empty. Raises `PkiError` if the
    issuer cannot sign it now, `ValueError` if the lifetime is beyond the calendar, and
    `UnfitCertificate` if `difference` would find one, so that it would be issued again at once.
    """
    key = pki.generate_key(keys)
    template = Template(
        subject=_subject(wanted),
        public_key=accepted_public_key(key.public_key()),
        lifetime=wanted.lifetime,
        names=names.to_extension() if (names := _names(wanted, identity)) else None,
        usages=_usages(wanted),
        is_ca=wanted.is_authority,
    )
    validity = pki.Validity.counted_from(now, wanted.lifetime, lead(wanted.lifetime))
    if issuer is None:
        certificate, limit = self_sign(template, key, now, validity), None
    else:
        certificate, limit = issuer.authority().issue(template, now, validity), issuer.validity
    if field := difference(certificate, wanted, identity, limit):
        raise UnfitCertificate(field)
    return CertifiedKey(certificate, key)


def difference(
    certificate: Certificate,
    wanted: WantedCertificate,
    identity: str,
    issuer: pki.Validity | None = None,
) -> str:
    """Return in which field of the spec a certificate differs from what is wanted; "" if in none.

    Its life may be shorter than wanted if it ends with its *issuer*.
    """
    if format_name(certificate.subject) != format_name(_subject(wanted)):
        return "spec.commonName"
    if is_authority(certificate) != wanted.is_authority:
        return "spec.isCA"
    if alternative_names(certificate).as_set() != _names(wanted, identity).as_set():
        return "spec.hosts"
    fitting = _usages(wanted).fitting(public_key_of(certificate))
    if usages_of(certificate) != fitting:
        return "spec.server"
    validity = pki.Validity.of(certificate)
    clamped = issuer is not None and validity.not_after == issuer.not_after
    longest = wanted.lifetime + BACKDATING
    if validity.lifetime > longest or (validity.lifetime < wanted.lifetime and not clamped):
        return "spec.validFor"
    return ""


def _subject(wanted: WantedCertificate) -> DistinguishedName:
    return pki.distinguished_name(wanted.common_name, [ORGANIZATION])


def _names(wanted: WantedCertificate, identity: str) -> pki.AlternativeNames:
    hosts = pki.AlternativeNames.of_hosts(*wanted.names)
    return replace(hosts, uris=(identity,)) if identity and not wanted.is_authority else hosts


def _usages(wanted: WantedCertificate) -> Usages:
    if wanted.is_authority:
        return _AUTHORITY
    return _SERVER if wanted.is_server else _CLIENT
