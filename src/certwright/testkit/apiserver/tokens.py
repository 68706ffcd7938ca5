"""Bearer tokens: opaque, remembered, and worth nothing to any other server."""

import secrets
from datetime import datetime, timedelta

from certwright.clock import Clock
from certwright.testkit.apiserver.storage import Change, ChangeType
from certwright.testkit.apiserver.users import User

_PREFIX = "certwright-"


class Tokens:
    """The tokens this server handed out, and whom they stand for.

    Tokens are the only thing of the server that does not come from its seeded chance:
    whoever knows the seed must not know the tokens.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._users: dict[str, tuple[User, datetime | None]] = {}

    def issue(self, user: User, lifetime: timedelta | None = None) -> str:
        """Return a new token for a user; without a lifetime it is valid as long as the server."""
        token = _PREFIX + secrets.token_urlsafe(32)
        self._users[token] = (user, self._clock.now() + lifetime if lifetime else None)
        return token

    def user(self, token: str) -> User | None:
        """Return whom a token stands for; None when it is unknown or has expired."""
        user, expiry = self._users.get(token, (None, None))
        if expiry is not None and expiry <= self._clock.now():
            del self._users[token]
            return None
        return user

    def observe(self, change: Change) -> None:
        """Forget the tokens of a ServiceAccount when it is deleted."""
        if change.type is not ChangeType.DELETED:
            return
        if change.record.kind.resource.qualified == "serviceaccounts":
            uid = change.record.uid
            for token in [t for t, (user, _) in self._users.items() if user.uid == uid]:
                del self._users[token]
