"""From settings to controllers: what `CertManager` needs in one process.

::

    operator = certmanager_cr_operator(CertManagerCrSettings(source))
    await Manager(client, [operator]).run()
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from certwright.api.certmanagerdeployments import GROUP
from certwright.api.certmanagers import CertManagerInstallation
from certwright.keep import Installer
from certwright.kube import Key
from certwright.kube.kinds import APIService, Secret
from certwright.operators.certmanager.engine.claim import Claims
from certwright.operators.certmanager.engine.controller import InstallController
from certwright.operators.certmanager.engine.gates import Gates
from certwright.operators.certmanager.engine.port import Source
from certwright.operators.certmanager.engine.secretview import SecretView
from certwright.operators.certmanager.engine.view import ClusterView
from certwright.operators.certmanager.ibm.adapter import FINALIZER, NAME
from certwright.operators.certmanager.ibm.kind import CertManagerKind
from certwright.operators.certmanager.operator import (
    CLAIMANT_NAMES,
    CLAIMANTS,
    DEADLINE,
    claim_watch,
)
from certwright.operators.certmanager.permissions import own_rules
from certwright.operators.certmanager.redhat.kind import FIELD_MANAGER
from certwright.operators.certmanager.v010.roles import RULES
from certwright.runtime import (
    Backoff,
    Channel,
    Context,
    Controller,
    Entry,
    Operator,
    OperatorHost,
    Outcome,
    Part,
    PolicyRule,
    allow,
    mapped,
)
from certwright.runtime.triggers import annotations_changed, any_of, generation_changed

CONTROLLER: Final = "ibm-cert-manager-operator"
"""The source of events, as users of the operator know it."""
RETRY_SECONDS: Final = (1.0, 300.0)
"""How long to wait before a failed pass is repeated: at first, and at most."""


@dataclass(frozen=True, slots=True)
class CertManagerCrSettings:
    """What the operator of CertManagers is given."""

    source: Source
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    """Which may name images of 0.10."""
    verbosity: int = 1
    """How much is logged, from 0 to 4."""
    operand_rules: Sequence[PolicyRule] = ()
    """What cert-manager itself may do, besides the rules of 0.10."""
    channels: Sequence[Channel] = ()
    """What else wakes the controller, such as a `BundleLibrary`."""


def certmanager_cr_operator(settings: CertManagerCrSettings) -> Operator:
    """Return what installs cert-manager for CertManagers."""

    def build(host: OperatorHost) -> Iterator[Part]:
        installer = Installer(
            host,
            FIELD_MANAGER,
            domain=GROUP,
            statuses=True,
            finalizer=FINALIZER,
            aliases=CLAIMANT_NAMES,
        )
        kind = CertManagerKind(settings.environment, settings.verbosity)
        secrets = SecretView(installer.cache, installer.channel.send)
        controller = InstallController(
            kind,
            settings.source,
            installer,
            ClusterView(installer, host.client, host.clock, secrets),
            Gates(host.client, host.clock),
            Claims(CLAIMANTS),
            Backoff(*RETRY_SECONDS, rng=host.rng),
            field_manager=FIELD_MANAGER,
        )

        async def reconcile(ctx: Context, key: Key) -> Outcome:
            kind.log.begin(ctx.log, key)
            if ctx.store(CertManagerInstallation).get(key) is None:
                kind.log.not_found()
            return await controller.reconcile(ctx, key)

        yield installer.cache
        yield Controller(
            CertManagerInstallation,
            reconcile,
            name=CONTROLLER,
            field_manager=FIELD_MANAGER,
            channels=[installer.channel, *settings.channels],
            watches=[mapped(claim_watch(), _wake_holder)],
            predicate=any_of(generation_changed, annotations_changed),
            workers=1,
            deadline=DEADLINE,
            rbac=[*_rules(), *settings.operand_rules],
        )

    return Operator("certmanager-cr", build, kinds=[CertManagerInstallation])


def _wake_holder(_claim: Entry) -> Iterable[Key]:
    return [Key("", NAME)]


def _rules() -> Iterator[PolicyRule]:
    """Yield what the operator needs: what it writes, and what it grants to 0.10."""
    yield from own_rules()
    yield allow(APIService, "get", "list", "watch", "create", "update", "patch", "delete")
    yield allow(Secret, "get", "list", "watch", "create", "update", "patch", "delete")
    for rule in RULES:
        for resource in rule["resources"]:
            yield PolicyRule(rule["apiGroups"][0], resource, tuple(rule["verbs"]))
