"""The lines of log of a CertManager, by level of verbosity.

==  ==============================================================
0   what stops the installation, and what is being done; always
1   what went wrong on the way, and each repair with its fields
2   progress
3   what was decided, for debugging
4   everything that was looked at
==  ==============================================================

Values of fields are not logged: they may be secret. Paths are.
"""

from typing import Any, Final

from certwright.apply import Action, Change
from certwright.kube import Key
from certwright.operators.certmanager.engine.pullsecret import PullSecretState
from certwright.operators.certmanager.ibm import messages
from certwright.operators.certmanager.ibm.summary import InstallFacts, summary

LOGGER: Final = "controller_certmanager"
LEVELS: Final = range(5)
_KINDS: Final = {
    "ClusterRole": "cluster role",
    "ClusterRoleBinding": "cluster role binding",
    "ServiceAccount": "service account",
    "RoleBinding": "role binding",
    "CustomResourceDefinition": "custom resource definition",
}
_SECRETS: Final = {
    PullSecretState.MISSING: (0, "Neither pull secret exist"),
    PullSecretState.EXISTS: (2, "Pull secret exists"),
    PullSecretState.SOURCE_MISSING: (2, "Image pull secret not found in specified namespace"),
    PullSecretState.UNREADABLE: (0, "The pull secret cannot be read"),
}


class InstallLog:
    """Writes lines up to a verbosity; each pass has a number by which its lines belong together."""

    def __init__(self, verbosity: int = 1) -> None:
        self._verbosity = verbosity
        self._passes = 0
        self._log: Any = None

    def begin(self, log: Any, key: Key) -> None:
        """Note that a pass begins; its lines go to *log*, that of its context."""
        self._passes += 1
        self._log = log.bind(logger=LOGGER, reconcile=self._passes)
        self._write(0, "Reconciling CertManager", name=key.name)

    def not_found(self) -> None:
        """Note that the object is gone."""
        self._write(2, "CR instance not found, don't requeue")

    def changed(self, change: Change, *, repaired: bool) -> None:
        """Note what became of an object."""
        ref, word = change.ref, _KINDS.get(change.ref.kind, change.ref.kind)
        match change.action:
            case Action.CREATED if ref.kind == "Namespace":
                self._write(1, "cert-manager namespace does not exist, creating it")
            case Action.CREATED if ref.kind == "CustomResourceDefinition":
                self._write(1, "Did not find custom resource, creating it now", object=str(ref))
            case Action.CREATED if ref.kind == "Secret":
                self._write(2, "Created image pull secret", object=str(ref))
            case Action.CREATED | Action.RECREATED:
                self._write(2, f"Creating {word}", object=str(ref))
            case Action.CONFIGURED if repaired:
                paths = [undone.path for undone in change.undone] or [
                    one.path for one in change.diff.changes
                ]
                self._write(1, f"{word} not equal", object=str(ref), fields=paths)
            case Action.CONFIGURED if ref.kind == "Secret":
                self._write(2, "Updated image pull secret", object=str(ref))
            case Action.CONFIGURED:
                self._write(2, f"Updating {word.lower()}", object=str(ref))
            case Action.DELETED:
                self._write(2, f"{word} removed", object=str(ref))
            case Action.FAILED:
                self._write(1, f"Error writing {word}", object=str(ref), error=change.reason)
            case Action.UNCHANGED if ref.kind == "Deployment":
                self._write(3, "Deploys are equal, no changes needed", object=str(ref))
            case _:
                self._write(4, f"Looked at {word}", object=str(ref), found=str(change.action))

    def removed(self, change: Change) -> None:
        """Note an object that was to be deleted."""
        if change.action is Action.UNCHANGED:
            self._write(1, "Object to delete is already gone", object=str(change.ref))
        else:
            self.changed(change, repaired=False)

    def reported(self, facts: InstallFacts) -> None:
        """Note how a pass ended."""
        if facts.rejected:
            self._write(0, facts.rejected)
            return
        text = summary(facts).text
        if facts.pull_secret is not None and facts.pull_secret.state in _SECRETS:
            level, line = _SECRETS[facts.pull_secret.state]
            self._write(level, line)
        if text == messages.PREREQS_NOT_MET:
            self._write(0, "One or more prerequisites not met, requeueing")
        elif text == messages.NOT_DEPLOYED:
            self._write(0, "Error with deploying cert-manager, requeueing")
        elif text == messages.DEPLOYED:
            self._write(2, "Finished checking CRDs, no errors found")
            self._write(2, "Finished working on deploy logic")
        self._write(3, "Deployments", found=[one.name for one in facts.deployments])

    def _write(self, level: int, line: str, **values: Any) -> None:
        if level <= self._verbosity:
            self._log.info(line, v=level, **values)
