"""How a faulty issuer says by which case it is caught, and under which name."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from tests.component.issuer.conformance.bare import Bare

B = TypeVar("B", bound=type[Bare])

ONE_NAME = "one DNS name"
BEHAVIOUR = "Behaviour"
CSR_BEHAVIOUR = "Behaviour with Kubernetes CSRs"


@dataclass(frozen=True, slots=True)
class Fault:
    """A faulty issuer, the case that has to catch it, and the name of the violation."""

    issuer: type[Bare]
    suite: str
    case: str
    caught: str

    @property
    def name(self) -> str:
        return self.issuer.__name__


FAULTS: list[Fault] = []


def fault(caught: str, case: str = ONE_NAME, suite: str = "CertificateRequest") -> Callable[[B], B]:
    """Enter a faulty issuer into the list."""

    def enter(issuer: B) -> B:
        FAULTS.append(Fault(issuer, suite, case, caught))
        return issuer

    return enter
