"""The fields of a certificate as plain values, to be printed or written as JSON."""

from datetime import datetime

from cryptography import x509
from cryptography.x509.oid import AuthorityInformationAccessOID
from msgspec import Struct

from certwright import pki
from certwright.pki.certificates import (
    alternative_names,
    extension,
    fingerprint,
    is_authority,
    public_key_of,
    usages_of,
)


class CertificateDetails(Struct, frozen=True, rename="camel", kw_only=True):
    """One certificate. Names are written as in RFC 4514, times are in UTC."""

    subject: str
    issuer: str
    serial: str
    not_before: datetime
    not_after: datetime
    renewal: datetime
    """When it is due to be renewed by default."""
    key: str
    signature: str
    is_authority: bool
    path_length: int | None
    is_self_issued: bool
    names: dict[str, list[str]]
    usages: list[str]
    extended_usages: list[str]
    revocation_lists: list[str]
    ocsp: list[str]
    issuing_certificates: list[str]
    fingerprint: str


def details_of(certificate: x509.Certificate) -> CertificateDetails:
    """Describe a certificate."""
    validity, usages = pki.Validity.of(certificate), usages_of(certificate)
    constraints = extension(certificate, x509.BasicConstraints)
    return CertificateDetails(
        subject=plain(pki.format_name(certificate.subject)),
        issuer=plain(pki.format_name(certificate.issuer)),
        serial=f"{certificate.serial_number:x}",
        not_before=validity.not_before,
        not_after=validity.not_after,
        renewal=pki.renewal_time(validity),
        key=_key(certificate),
        signature=certificate.signature_algorithm_oid._name,  # noqa: SLF001 - the name is nowhere else
        is_authority=is_authority(certificate),
        path_length=constraints.path_length if constraints else None,
        is_self_issued=certificate.subject == certificate.issuer,
        names=names_of(alternative_names(certificate)),
        usages=usages.key_words(),
        extended_usages=usages.extended_words(),
        revocation_lists=_revocation_lists(certificate),
        ocsp=_places(certificate, AuthorityInformationAccessOID.OCSP),
        issuing_certificates=_places(certificate, AuthorityInformationAccessOID.CA_ISSUERS),
        fingerprint=fingerprint(certificate),
    )


def names_of(names: pki.AlternativeNames) -> dict[str, list[str]]:
    """Return alternative names by kind; kinds without any are left out."""
    kinds = {
        "dns": names.dns,
        "ip": map(str, names.ips),
        "email": names.emails,
        "uri": names.uris,
        "other": map(_other, names.others),
    }
    found = {kind: [plain(value) for value in values] for kind, values in kinds.items()}
    return {kind: values for kind, values in found.items() if values}


def plain(text: str) -> str:
    """Return text that a terminal shows as it is: names may hold anything."""
    return "".join(
        letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text
    )


def _key(certificate: x509.Certificate) -> str:
    try:
        return str(pki.key_spec(public_key_of(certificate)))
    except pki.UnsupportedKey as error:
        return f"not accepted: {error}"


def _other(name: x509.GeneralName) -> str:
    match name:
        case x509.OtherName():
            return f"{name.type_id.dotted_string}:{name.value.hex()}"
        case x509.DirectoryName():
            return pki.format_name(name.value)
        case x509.RegisteredID():
            return name.value.dotted_string
    return str(name.value)


def _revocation_lists(certificate: x509.Certificate) -> list[str]:
    points = extension(certificate, x509.CRLDistributionPoints) or ()
    return [
        plain(name.value)
        for point in points
        for name in point.full_name or ()
        if isinstance(name, x509.UniformResourceIdentifier)
    ]


def _places(certificate: x509.Certificate, method: x509.ObjectIdentifier) -> list[str]:
    access = extension(certificate, x509.AuthorityInformationAccess) or ()
    return [plain(str(one.access_location.value)) for one in access if one.access_method == method]
