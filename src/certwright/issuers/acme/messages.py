"""The messages of an ACME server (RFC 8555, section 7.1), as far as they are read."""

import msgspec

_PREFIX = "urn:ietf:params:acme:error:"
_DETAIL_LIMIT = 500


class Identifier(msgspec.Struct, frozen=True):
    """A name that a certificate is ordered for: a DNS name or an IP address."""

    type: str
    value: str


class ProblemDocument(msgspec.Struct, frozen=True):
    """Why something was refused (RFC 7807 with RFC 8555, section 6.7)."""

    type: str = "about:blank"
    detail: str = ""
    status: int = 0
    identifier: Identifier | None = None
    subproblems: tuple["ProblemDocument", ...] = ()

    @property
    def kind(self) -> str:
        """The last part of the type: ``rateLimited``, ``badCSR`` …; the type if it is foreign."""
        return self.type.removeprefix(_PREFIX)

    def __str__(self) -> str:
        parts = [_plain(self.detail) or "no detail given"]
        parts += [
            f"{one.identifier.value if one.identifier else one.kind}: {_plain(one.detail)}"
            for one in self.subproblems[:5]
        ]
        return f"{_plain(self.kind)}: {'; '.join(parts)}"[: 2 * _DETAIL_LIMIT]


class DirectoryTerms(msgspec.Struct, frozen=True, rename="camel"):
    """The terms of a server."""

    terms_of_service: str = ""
    external_account_required: bool = False


class Directory(msgspec.Struct, frozen=True, rename="camel"):
    """The URLs of a server."""

    new_nonce: str
    new_account: str
    new_order: str
    meta: DirectoryTerms = DirectoryTerms()


class Challenge(msgspec.Struct, frozen=True):
    """One way to prove that we hold a name."""

    type: str
    url: str
    status: str = "pending"
    token: str = ""
    error: ProblemDocument | None = None


class Authorization(msgspec.Struct, frozen=True):
    """Whether the server accepts that we hold a name, and how to prove it."""

    identifier: Identifier
    status: str
    challenges: tuple[Challenge, ...]
    wildcard: bool = False


class Order(msgspec.Struct, frozen=True):
    """The order of a certificate."""

    status: str
    authorizations: tuple[str, ...]
    finalize: str
    certificate: str = ""
    error: ProblemDocument | None = None


class Account(msgspec.Struct, frozen=True):
    """The account at the server."""

    status: str


def _plain(text: str) -> str:
    """Return one bounded line: servers quote what others sent them."""
    printable = "".join(letter if letter.isprintable() else " " for letter in text)
    return printable[:_DETAIL_LIMIT]
