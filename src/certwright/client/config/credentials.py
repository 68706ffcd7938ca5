"""What one request logs in with, and the seam behind which it is kept current."""

from dataclasses import dataclass, field
from typing import Protocol

from certwright.client.errors import CredentialError


@dataclass(frozen=True, slots=True, eq=False)
class Login:
    """What one request proves itself with. Compared by identity: a new one is a change."""

    authorization: str = field(default="", repr=False)
    certificate: bytes = field(default=b"", repr=False)
    key: bytes = field(default=b"", repr=False)


class Credentials(Protocol):
    """Where logins come from. Raises `CredentialError` when there is none to be had."""

    async def current(self) -> Login:
        """Return the login to use now; the same object as long as nothing changes."""
        ...

    async def renew(self, rejected: Login) -> bool:
        """Try for something better than what the server rejected; say whether there is."""
        ...


def bearer(token: str, where: str) -> str:
    """Return the Authorization header for a token, refusing what no header can carry."""
    token = token.strip()
    if not token:
        raise CredentialError(f"{where}: the token is empty; log in again")
    if not (token.isascii() and token.isprintable()) or " " in token:
        raise CredentialError(
            f"{where}: the token holds characters that cannot be sent; is it encoded or encrypted?"
        )
    return f"Bearer {token}"
