"""What ``check`` and ``sign`` are given: the issuer, its spec resolved."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Generic, TypeVar

from certwright.issuer.request import Offload
from certwright.issuer.secrets import SecretData
from certwright.kube import Condition

S = TypeVar("S")


@dataclass(frozen=True, eq=False, kw_only=True)
class Issuer(Generic[S]):
    """An issuer as its author sees it.

    Given to functions; or subclassed, with ``check(self)`` and ``sign(self, request)``, and
    registered with ``@app.issuer``. There is a fresh one for every call.
    """

    kind: str
    name: str
    namespace: str
    """Empty for cluster issuers."""
    uid: str
    generation: int
    spec: S
    """As declared, with Secret references replaced by what they refer to."""
    conditions: tuple[Condition, ...] = ()
    now: datetime
    read_secret: Callable[[str], SecretData] = field(repr=False)
    offload: Offload = field(repr=False)

    def secret(self, name: str) -> SecretData:
        """Return a Secret from where the issuer's references point; ``IssuerApp(secrets=True)``.

        Raises:
            LookupError: there is none.
        """
        return self.read_secret(name)
