"""Whose request is it: from a reference or a signer's name to one of our kinds and a name."""

from collections.abc import Sequence
from typing import NamedTuple

from certwright.api.certmanager import IssuerRef
from certwright.kube import Key, Resource


class IssuerAt(NamedTuple):
    """An issuer by address, whether it exists or not."""

    kind: Resource
    key: Key

    @property
    def missing_text(self) -> str:
        """What an API server would say."""
        return f'{self.kind.qualified} "{self.key.name}" not found'


class NotOurs(LookupError):
    """The request is for somebody else, or for nobody; the message says why."""


def match_reference(ref: IssuerRef | None, namespace: str, kinds: Sequence[Resource]) -> IssuerAt:
    """Find the issuer of a CertificateRequest. Of several kinds that fit the first one does.

    Raises:
        NotOurs: no kind fits.
    """
    if ref is None:
        raise NotOurs("invalid reference, CertificateRequest is nil")
    for kind in kinds:
        if ref.group == kind.group and ref.kind in {"", kind.kind}:
            return IssuerAt(kind, Key(namespace if kind.namespaced else "", ref.name))
    raise NotOurs(
        "no issuer found for reference:"
        f' [Group="{ref.group}", Kind="{ref.kind}", Name="{ref.name}"]'
    )


def match_signer(
    name: str | None, kinds: Sequence[Resource], *, namespaced: bool = False
) -> IssuerAt:
    """Find the issuer that a signer's name means: ``plural.group/name``.

    With *namespaced*, ``plural.group/namespace.name`` means a namespaced issuer.

    Raises:
        NotOurs: the name has another form, or means none of the kinds.
    """
    if name is None:
        raise NotOurs("invalid reference, CertificateSigningRequest is nil")
    type_id, slash, issuer = name.partition("/")
    if not slash or "/" in issuer:
        raise NotOurs(
            f'invalid signer name, should have format <issuer-type-id>/<issuer-id>: "{name}"'
        )
    for kind in kinds:
        if type_id != kind.qualified:
            continue
        if not kind.namespaced:
            return IssuerAt(kind, Key("", issuer))
        if not namespaced:
            raise NotOurs(
                f'invalid SignerName, "{type_id}" is a namespaced issuer type, namespaced'
                " issuers are not supported for Kubernetes CSRs"
            )
        namespace, dot, rest = issuer.partition(".")
        if dot and namespace and rest:
            return IssuerAt(kind, Key(namespace, rest))
        break
    raise NotOurs(f'no issuer found for signer name: "{name}"')
