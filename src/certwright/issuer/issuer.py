"""The issuer that ``check`` and ``sign`` are given, its spec resolved."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Generic, ParamSpec, TypeVar

from certwright.issuer.request import Offload
from certwright.issuer.spec import SecretData
from certwright.kube import Condition

S = TypeVar("S")
P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True, eq=False, kw_only=True)
class Issuer(Generic[S]):
    """An issuer as its author sees it.

    Given to functions; or subclassed, with ``check(self)`` and ``sign(self, request)``, and
    registered with ``@app.issuer``. There is a fresh one for every call.
    """

    kind: str
    """The kind of the object."""
    name: str
    """The name of the object."""
    namespace: str
    """Empty for cluster issuers."""
    uid: str
    """The uid of the object."""
    generation: int
    """Grows with each change of the spec."""
    spec: S
    """As declared, with Secret references replaced by what they refer to."""
    annotations: Mapping[str, str] = field(default_factory=dict)
    """The annotations of the object."""
    conditions: tuple[Condition, ...] = ()
    """The conditions of the object, before this call."""
    now: datetime
    """When this call began."""
    read_secret: Callable[[str], Awaitable[SecretData]] = field(repr=False)
    offload: Offload = field(repr=False)

    async def cpu(self, fn: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Run a function that may take more than 5 ms in a thread, off the event loop."""
        result: R = await self.offload(fn, *args, **kwargs)
        return result

    async def secret(self, name: str) -> SecretData:
        """Read a Secret from where the issuer's references point.

        For names that the spec does not hold; needs ``IssuerApp(secrets=True)``.

        Raises:
            LookupError: there is none.
        """
        return await self.read_secret(name)
