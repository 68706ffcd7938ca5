"""Compares the details of a certificate with its request: spelling, criticality, identifiers. Pure.

``NameRespelled``, ``NameRepeated``, ``CommonNameCopied``, ``NotCritical``, ``PathLengthAdded``,
``KeyIdentifierMissing``, ``KeyIdentifierMismatch``.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from cryptography import x509
from cryptography.exceptions import InvalidSignature

from certwright import pki
from certwright.issuer.conformance.cases.objects import CaseRequest
from certwright.pki import Violation
from certwright.pki.certificates import alternative_names, extension, is_authority, usages_of
from certwright.pki.chains import is_self_signed, verify_signature
from certwright.pki.errors import listed
from certwright.pki.names import common_name

_WORDS: dict[type[x509.ExtensionType], str] = {
    x509.SubjectAlternativeName: "alternative names",
    x509.BasicConstraints: "basic constraints",
    x509.KeyUsage: "key usage",
}


def detail_violations(
    asked: CaseRequest, chain: Sequence[x509.Certificate], authorities: Sequence[x509.Certificate]
) -> list[Violation]:
    """Return which details of the first certificate of a chain are not as requested.

    The certificate that signed it is looked for in the rest of the chain and in *authorities*;
    what can only be judged beside it is not judged if it is not found.
    """
    leaf = chain[0]
    signer = next((one for one in (*chain[1:], *authorities) if _is_signed_by(leaf, one)), None)
    return [
        *_spelling_violations(leaf, asked.request),
        *_criticality_violations(leaf),
        *_identifier_violations(leaf, signer),
        *_path_length_violations(leaf, signer),
    ]


def fair_terms(asked: CaseRequest, leaf: x509.Certificate) -> pki.RequestTerms:
    """Return the terms to compare with: an authority may sign certificates, listed or not.

    Kubernetes' own requests have to list each usage, but a certificate of an authority without
    this one is of no use.
    """
    terms, sign = asked.terms, pki.parse_usages(["cert sign"]).key
    if not terms.is_ca or not usages_of(leaf).key >= sign:
        return terms
    return replace(terms, usages=replace(terms.usages, key=terms.usages.key | sign))


def _spelling_violations(
    leaf: x509.Certificate, request: pki.SigningRequest
) -> Iterator[Violation]:
    asked, given = request.names.dns, alternative_names(leaf).dns
    known = {name.lower() for name in asked}
    if changed := sorted({name for name in given if name.lower() in known} - set(asked)):
        yield Violation(
            "NameRespelled", f"names were asked for in other letters: {listed(changed)}"
        )
    written = list(extension(leaf, x509.SubjectAlternativeName) or ())
    if twice := {str(one.value) for one in written if written.count(one) > 1}:
        yield Violation("NameRepeated", f"names are there twice: {listed(sorted(twice))}")
    wanted = common_name(request.subject).lower()
    if wanted and wanted not in known and wanted in {name.lower() for name in given}:
        said = f"the common name {wanted!r} was added to the alternative names"
        yield Violation("CommonNameCopied", said)


def _criticality_violations(leaf: x509.Certificate) -> Iterator[Violation]:
    """Yield what must be critical and is not: RFC 5280, 4.2.1.3, 4.2.1.6 and 4.2.1.9."""
    must: dict[type[x509.ExtensionType], bool] = {
        x509.SubjectAlternativeName: not leaf.subject.rdns,
        x509.BasicConstraints: is_authority(leaf),
        x509.KeyUsage: True,
    }
    lax = [
        _WORDS[type(one.value)]
        for one in leaf.extensions
        if must.get(type(one.value), False) and not one.critical
    ]
    if lax:
        yield Violation("NotCritical", f"extensions have to be critical: {listed(sorted(lax))}")


def _is_signed_by(certificate: x509.Certificate, signer: x509.Certificate) -> bool:
    """Return whether a key signed a certificate, whatever the key identifiers say."""
    if certificate.issuer != signer.subject:
        return False
    try:
        verify_signature(certificate, signer)
    except (InvalidSignature, pki.PkiError):
        return False
    return True


def _identifier_violations(
    leaf: x509.Certificate, signer: x509.Certificate | None
) -> Iterator[Violation]:
    held = extension(leaf, x509.AuthorityKeyIdentifier)
    identifier = held.key_identifier if held is not None else None
    if identifier is None and not is_self_signed(leaf):
        said = "it does not identify the key that signed it (authority key identifier)"
        yield Violation("KeyIdentifierMissing", said)
    if is_authority(leaf) and extension(leaf, x509.SubjectKeyIdentifier) is None:
        said = "it is an authority's and does not identify its key (subject key identifier)"
        yield Violation("KeyIdentifierMissing", said)
    above = None if signer is None else extension(signer, x509.SubjectKeyIdentifier)
    if above is not None and identifier is not None and identifier != above.digest:
        said = "its authority key identifier is not that of the certificate that signed it"
        yield Violation("KeyIdentifierMismatch", said)


def _path_length_violations(
    leaf: x509.Certificate, signer: x509.Certificate | None
) -> Iterator[Violation]:
    """Yield a limit that the authority made up; one that follows from its own is right."""
    given = _path_length(leaf)
    if given is None or signer is None:
        return
    if signer == leaf or _path_length(signer) is None:
        yield Violation("PathLengthAdded", f"a path length of {given} was not asked for")


def _path_length(certificate: x509.Certificate) -> int | None:
    constraints = extension(certificate, x509.BasicConstraints)
    return constraints.path_length if constraints is not None else None
