"""From settings to controllers: what `CertManagerDeployment` needs in one process.

::

    operator = certmanager_operator(CertManagerSettings(source))
    await Manager(client, [operator]).run()
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

from certwright.api.certmanagerdeployments import GROUP, NAME, CertManagerDeployment
from certwright.keep import Installer
from certwright.kube import GroupVersionKind, Key
from certwright.kube.kinds import Lease
from certwright.operators.certmanager.engine.claim import CLAIM, Claims
from certwright.operators.certmanager.engine.controller import InstallController
from certwright.operators.certmanager.engine.gates import Gates
from certwright.operators.certmanager.engine.port import Source
from certwright.operators.certmanager.engine.view import ClusterView
from certwright.operators.certmanager.permissions import own_rules
from certwright.operators.certmanager.redhat.kind import CONTROLLER, FIELD_MANAGER, DeploymentKind
from certwright.runtime import (
    Backoff,
    Channel,
    Controller,
    Entry,
    Operator,
    OperatorHost,
    Part,
    PolicyRule,
    Watched,
    mapped,
    select,
)
from certwright.runtime.triggers import annotations_changed, any_of, generation_changed

RETRY_SECONDS: Final = (0.1, 300.0)
"""How long to wait before a failed pass is repeated: at first, and at most."""
DEADLINE: Final = timedelta(minutes=5)
"""How long one pass may take: a migration writes many objects."""
EVENTS: Final = 200
"""How many events one object gets at once: an installation tells of each object it creates."""
CLAIMANTS: Final = {
    "CertManagerDeployment": GroupVersionKind(GROUP, "v1alpha1", "CertManagerDeployment"),
    "CertManager": GroupVersionKind("operator.ibm.com", "v1alpha1", "CertManager"),
}
"""The kinds that can hold the installation."""
CLAIMANT_NAMES: Final = (NAME, "default")
"""The names of those objects. One hands its installation over to the other."""


@dataclass(frozen=True, slots=True)
class CertManagerSettings:
    """What the operator of CertManagerDeployments is given."""

    source: Source
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    """Whose proxies the components get."""
    operand_rules: Sequence[PolicyRule] = ()
    """What cert-manager itself may do, see `grants`: who grants rules has to have them."""
    channels: Sequence[Channel] = ()
    """What else wakes the controller, such as a `BundleLibrary`."""


def certmanager_operator(settings: CertManagerSettings) -> Operator:
    """Return what installs cert-manager for CertManagerDeployments."""

    def build(host: OperatorHost) -> Iterator[Part]:
        installer = Installer(
            host, FIELD_MANAGER, domain=GROUP, statuses=True, aliases=CLAIMANT_NAMES
        )
        controller = InstallController(
            DeploymentKind(settings.environment),
            settings.source,
            installer,
            ClusterView(installer, host.client, host.clock),
            Gates(host.client, host.clock),
            Claims(CLAIMANTS),
            Backoff(*RETRY_SECONDS, rng=host.rng),
            field_manager=FIELD_MANAGER,
        )
        yield installer.cache
        yield Controller(
            CertManagerDeployment,
            controller.reconcile,
            name=CONTROLLER,
            field_manager=FIELD_MANAGER,
            channels=[installer.channel, *settings.channels],
            watches=[mapped(claim_watch(), wake_holder)],
            predicate=any_of(generation_changed, annotations_changed),
            workers=1,
            deadline=DEADLINE,
            rbac=[*own_rules(), *settings.operand_rules],
            conditions=("Available",),
            event_burst=EVENTS,
        )

    return Operator("certmanager", build, kinds=[CertManagerDeployment])


def claim_watch() -> Watched:
    """Return what is watched of the claim."""
    return select(Lease, namespace=CLAIM.namespace, fields=f"metadata.name={CLAIM.name}")


def wake_holder(_claim: Entry) -> Iterable[Key]:
    """Wake the one object that counts when the claim changes."""
    return [Key("", NAME)]
