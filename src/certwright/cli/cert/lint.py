"""The findings of pkilint, where it is installed (``pip install 'certwright[lint]'``)."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from certwright.cli.cert.diagnostics import Diagnostic, Severity
from certwright.cli.errors import UsageError

_SEVERITIES = {
    "FATAL": Severity.ERROR,
    "ERROR": Severity.ERROR,
    "WARNING": Severity.WARNING,
    "NOTICE": Severity.NOTICE,
}


def lint(certificates: Iterable[x509.Certificate]) -> Iterator[Diagnostic]:
    """Yield what the linter finds against RFC 5280 and its companions; `UsageError` without it."""
    examine = _linter()
    for number, certificate in enumerate(certificates, 1):
        for result in examine(certificate.public_bytes(Encoding.DER)):
            for found in result.finding_descriptions:
                severity = _SEVERITIES.get(found.finding.severity.name)
                if severity is not None:
                    text = found.message or "see the linter's documentation"
                    yield Diagnostic(severity, found.finding.code, text, number)


def _linter() -> Callable[[bytes], Iterable[Any]]:
    try:
        from pkilint import loader
        from pkilint.pkix import certificate, extension, name
    except ModuleNotFoundError:
        raise UsageError(
            "--lint needs pkilint: pip install 'certwright[lint]', or drop the option"
        ) from None
    validator = certificate.create_pkix_certificate_validator_container(
        certificate.create_decoding_validators(
            name.ATTRIBUTE_TYPE_MAPPINGS, extension.EXTENSION_MAPPINGS
        ),
        [
            certificate.create_issuer_validator_container([]),
            certificate.create_validity_validator_container(),
            certificate.create_subject_validator_container([]),
            certificate.create_extensions_validator_container([]),
            certificate.create_spki_validator_container([]),
        ],
    )
    read = loader.RFC5280CertificateDocumentLoader()

    def examine(der: bytes) -> Iterable[Any]:
        results: Iterable[Any] = validator.validate(read.load_der_document(der).root)
        return results

    return examine
