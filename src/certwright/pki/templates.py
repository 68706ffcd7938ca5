"""What a certificate will say, before anybody signs it."""

from dataclasses import dataclass
from datetime import timedelta

from cryptography import x509

from certwright.pki.keys import PublicKey
from certwright.pki.names import AlternativeNames
from certwright.pki.requests import RequestTerms, SigningRequest
from certwright.pki.usages import DEFAULT_USAGES, Usages, parse_usages

_AUTHORITY = parse_usages(["digital signature", "cert sign", "crl sign"])
_SERVER = parse_usages(["digital signature", "key encipherment", "server auth"])
_CLIENT = parse_usages(["digital signature", "client auth"])
_PEER = parse_usages(["digital signature", "key encipherment", "server auth", "client auth"])


@dataclass(frozen=True, slots=True)
class Template:
    """The content of a certificate to come. Usages that the key cannot serve are left out."""

    subject: x509.Name
    public_key: PublicKey
    lifetime: timedelta
    names: x509.SubjectAlternativeName | None = None
    usages: Usages = DEFAULT_USAGES
    is_ca: bool = False
    path_length: int | None = None
    name_constraints: x509.Extension[x509.NameConstraints] | None = None

    def extensions(self) -> list[tuple[x509.ExtensionType, bool]]:
        """Return the extensions that do not depend on the signer, each with its criticality."""
        fitting = self.usages.fitting(self.public_key)
        length = self.path_length if self.is_ca else None
        out: list[tuple[x509.ExtensionType, bool]] = [
            (x509.BasicConstraints(ca=self.is_ca, path_length=length), True)
        ]
        if fitting.key:
            out.append((fitting.key_usage(), True))
        if fitting.extended:
            out.append((fitting.extended_key_usage(), False))
        if self.names is not None:
            out.append((self.names, not self.subject.rdns))  # RFC 5280, 4.2.1.6
        if self.name_constraints is not None:
            out.append((self.name_constraints.value, self.name_constraints.critical))
        out.append((x509.SubjectKeyIdentifier.from_public_key(self.public_key), False))
        return out


def authority_template(
    subject: x509.Name,
    public_key: PublicKey,
    lifetime: timedelta,
    *,
    path_length: int | None = None,
) -> Template:
    """Describe a certificate authority, root or intermediate."""
    return Template(
        subject, public_key, lifetime, usages=_AUTHORITY, is_ca=True, path_length=path_length
    )


def server_template(
    subject: x509.Name, public_key: PublicKey, lifetime: timedelta, names: AlternativeNames
) -> Template:
    """Describe a server that is reached under *names*."""
    return Template(subject, public_key, lifetime, names.to_extension(), _SERVER)


def client_template(
    subject: x509.Name,
    public_key: PublicKey,
    lifetime: timedelta,
    names: AlternativeNames | None = None,
) -> Template:
    """Describe a client that is known by its subject, or by *names*."""
    extension = names.to_extension() if names else None
    return Template(subject, public_key, lifetime, extension, _CLIENT)


def peer_template(
    subject: x509.Name, public_key: PublicKey, lifetime: timedelta, names: AlternativeNames
) -> Template:
    """Describe a member of a mesh: server and client in one."""
    return Template(subject, public_key, lifetime, names.to_extension(), _PEER)


def request_template(request: SigningRequest, terms: RequestTerms) -> Template:
    """Describe what a request asks for, on these terms.

    Taken from the request: key, subject, alternative names with everything in them, name
    constraints. Taken from the terms: lifetime, usages, whether it is an authority. All
    other extensions of the request are dropped. The request must have been checked.
    """
    return Template(
        subject=request.subject,
        public_key=request.public_key,
        lifetime=terms.lifetime,
        names=request.names_extension,
        usages=terms.usages,
        is_ca=terms.is_ca,
        name_constraints=request.name_constraints,
    )
