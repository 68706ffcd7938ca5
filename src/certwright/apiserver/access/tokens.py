"""Bearer tokens: opaque, remembered, and worth nothing to any other server."""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from certwright.apiserver.access.users import UserInfo
from certwright.apiserver.storage.storage import ChangeType, StoredChange
from certwright.clock import Clock

_PREFIX = "certwright-"
_FEW = 1000
"""So many tokens may be remembered before those that have expired are looked for."""
_BINDING = ("serviceaccounts", "pods", "secrets", "nodes")
AUDIENCE = "https://kubernetes.default.svc"
"""For whom tokens are that open this server."""


@dataclass(frozen=True, slots=True)
class GrantedToken:
    """Whom a token stands for, until when and towards whom."""

    user: UserInfo
    expiry: datetime | None
    audiences: tuple[str, ...]
    bound: str = ""
    """The uid of the object without which the token is worth nothing; empty if there is none."""


class Tokens:
    """The tokens this server handed out, and whom they stand for.

    Tokens are the only thing of the server that does not come from its seeded chance:
    knowing the seed must not give away the tokens.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._issued: dict[str, GrantedToken] = {}
        self._crowded = _FEW

    def issue(
        self,
        user: UserInfo,
        lifetime: timedelta | None = None,
        audiences: Sequence[str] = (AUDIENCE,),
        bound: str = "",
    ) -> str:
        """Return a new token for a user; without a lifetime it is valid as long as the server."""
        if len(self._issued) >= self._crowded:
            self._forget_expired()
        token = _PREFIX + secrets.token_urlsafe(32)
        expiry = self._clock.now() + lifetime if lifetime else None
        self._issued[token] = GrantedToken(user, expiry, tuple(audiences), bound)
        return token

    def find(self, token: str) -> GrantedToken | None:
        """Return what is known of a token; None when it is unknown or has expired."""
        issued = self._issued.get(token)
        if issued is not None and issued.expiry is not None and issued.expiry <= self._clock.now():
            del self._issued[token]
            return None
        return issued

    def _forget_expired(self) -> None:
        now = self._clock.now()
        expired = [token for token, one in self._issued.items() if one.expiry and one.expiry <= now]
        for token in expired:
            del self._issued[token]
        self._crowded = max(_FEW, 2 * len(self._issued))

    def user(self, token: str) -> UserInfo | None:
        """Return whom a token lets in; None when it is none for this server."""
        issued = self.find(token)
        return issued.user if issued is not None and AUDIENCE in issued.audiences else None

    def observe(self, change: StoredChange) -> None:
        """Forget tokens when their ServiceAccount, or the object they are bound to, is deleted."""
        if change.type is not ChangeType.DELETED:
            return
        if change.record.kind.resource.qualified in _BINDING:
            uid = change.record.uid
            gone = [t for t, one in self._issued.items() if uid in {one.user.uid, one.bound}]
            for token in gone:
                del self._issued[token]
