"""What a DiscoveryServiceCertificate asks for: its spec, checked; fields at fault are named."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import msgspec
from msgspec import UNSET

from certwright import pki
from certwright.api.discoverydefaults import deprecated_certificate_fields, is_renewed
from certwright.api.discoveryservices import CertificateSigner, DiscoveryServiceCertificateSpec
from certwright.kube import JsonObject, Key, key_of


class InvalidSpec(ValueError):
    """A spec that cannot be fulfilled; the message names the field and what to change."""


@dataclass(frozen=True, slots=True)
class WantedCertificate:
    """A certificate as it is asked for."""

    key: Key
    """The object that asks."""
    secret: Key
    """Where it is written."""
    common_name: str
    lifetime: timedelta
    issuer: Key | None
    """The Secret of the authority; None if it signs itself."""
    is_server: bool = False
    is_authority: bool = False
    hosts: tuple[str, ...] = ()
    renewed: bool = True
    deprecated: tuple[str, ...] = ()
    """Fields that are used under an old name."""

    @property
    def rotates(self) -> bool:
        """Whether it is an authority that is replaced in steps."""
        return self.is_authority and self.issuer is None

    @property
    def names(self) -> tuple[str, ...]:
        """The hosts that the certificate names: those given, else a server's common name."""
        return self.hosts or ((self.common_name,) if self.is_server else ())


def read_wanted(obj: JsonObject) -> WantedCertificate:
    """Read what an object asks for; `InvalidSpec` names the field at fault."""
    key = key_of(obj)
    try:
        spec = msgspec.convert(obj.get("spec") or {}, DiscoveryServiceCertificateSpec)
    except msgspec.ValidationError as error:
        raise InvalidSpec(_with_path(error)) from None
    wanted = WantedCertificate(
        key=key,
        secret=Key(key.namespace, spec.secret_ref.name),
        common_name=spec.common_name,
        lifetime=timedelta(seconds=spec.valid_for),
        issuer=_issuer(spec.signer, key.namespace),
        is_server=spec.server is True,
        is_authority=spec.is_ca is True,
        hosts=tuple(spec.hosts),
        renewed=is_renewed(spec),
        deprecated=tuple(deprecated_certificate_fields(spec)),
    )
    _check(wanted)
    return wanted


def issuer_of(obj: JsonObject) -> Key | None:
    """Return the Secret of the authority that an object names, though its spec may be invalid."""
    reference: Any = obj
    for name in ("spec", "signer", "caSigned", "caSecretRef"):
        reference = reference.get(name) if isinstance(reference, dict) else None
    if not isinstance(reference, dict) or not isinstance(reference.get("name"), str):
        return None
    namespace = reference.get("namespace") or key_of(obj).namespace
    return Key(namespace, reference["name"]) if isinstance(namespace, str) else None


def secret_of(obj: JsonObject) -> Key | None:
    """Return the Secret that an object names, though its spec may be invalid."""
    spec = obj.get("spec")
    reference = spec.get("secretRef") if isinstance(spec, dict) else None
    name = reference.get("name") if isinstance(reference, dict) else None
    return Key(key_of(obj).namespace, name) if isinstance(name, str) and name else None


def _issuer(signer: CertificateSigner, namespace: str) -> Key | None:
    if (signer.self_signed is UNSET) == (signer.ca_signed is UNSET):
        raise InvalidSpec("spec.signer: set exactly one of selfSigned and caSigned")
    if signer.ca_signed is UNSET:
        return None
    reference = signer.ca_signed.ca_secret_ref
    given = "" if reference.namespace is UNSET else reference.namespace
    return Key(given or namespace, reference.name)


def _check(wanted: WantedCertificate) -> None:
    if wanted.issuer is not None and wanted.is_authority:
        raise InvalidSpec(
            "spec.isCA: an authority below another is not supported; set signer.selfSigned"
        )
    if wanted.issuer == wanted.secret:
        raise InvalidSpec(
            f"spec.secretRef.name: {wanted.secret.name!r} is the Secret of the authority; name"
            " another one"
        )
    elsewhere = wanted.issuer is not None and wanted.issuer.namespace != wanted.key.namespace
    if elsewhere and (wanted.is_server or wanted.hosts):
        # Else any namespace could have the control plane's own name certified.
        raise InvalidSpec(
            "spec.signer.caSigned.caSecretRef.namespace: an authority of another namespace signs"
            " only for clients; leave out server and hosts, or use an authority of"
            f" {wanted.key.namespace}"
        )
    try:
        pki.AlternativeNames.of_hosts(*wanted.names).to_extension()
    except pki.PkiError as error:
        raise InvalidSpec(f"spec.hosts: {error}") from None
    try:
        pki.distinguished_name(wanted.common_name)
    except pki.PkiError as error:
        raise InvalidSpec(f"spec.commonName: {error}") from None
    if any(ord(character) < 0x20 or ord(character) == 0x7F for character in wanted.common_name):
        raise InvalidSpec("spec.commonName: control characters are not allowed")


def _with_path(error: msgspec.ValidationError) -> str:
    """Return the message of a decoder with the path of the field in front."""
    problem, _, place = str(error).partition(" - at ")
    path = place.strip("`").removeprefix("$")
    if not path and (missing := problem.removeprefix("Object missing required field ")) != problem:
        return f"spec.{missing.strip('`')}: is required"
    return f"spec{path}: {problem}"
