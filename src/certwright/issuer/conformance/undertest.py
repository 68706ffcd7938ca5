"""Which issuer is under test, and where."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from certwright.api.certmanager import IssuerRef
from certwright.client import Client
from certwright.clock import Clock
from certwright.issuer.conformance.cases.features import Feature
from certwright.kube import Key, Resource

PATIENCE = timedelta(seconds=60)
"""How long an answer may take by default."""

GLANCE = timedelta(seconds=1)
"""How long a request is watched where nothing should happen."""


@dataclass(frozen=True, slots=True)
class IssuerUnderTest:
    """An issuer that exists, in a cluster where its controller runs."""

    client: Client
    """It needs the right to create, approve and delete requests."""
    clock: Clock
    issuer: Key
    """Namespace, empty for cluster-wide kinds, and name."""
    resource: Resource
    """The kind of the issuer."""
    namespace: str
    """Where requests are made; the issuer's own if it has one."""
    unsupported: Mapping[Feature, str] = field(default_factory=dict)
    """What its authority does not do, each with the reason."""
    patience: timedelta = PATIENCE
    glance: timedelta = GLANCE
    key_secrets: bool = False
    """Whether the key of each CertificateRequest is put into a Secret beside it, as cert-manager
    does; issuers of self-signed certificates need it."""

    @property
    def reference(self) -> IssuerRef:
        """How a CertificateRequest names the issuer."""
        return IssuerRef(self.issuer.name, self.resource.kind, self.resource.group)

    @property
    def signer(self) -> str:
        """How a CertificateSigningRequest names the issuer."""
        return f"{self.resource.plural}.{self.resource.group}/{self.issuer.name}"

    def __str__(self) -> str:
        return f"{self.resource.group}/{self.resource.kind}/{self.issuer}"
