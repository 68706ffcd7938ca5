"""What to do about the reasons of conditions and findings; their messages say what is the case."""

from typing import Final

from certwright.operators.certmanager.engine.gates import GateReason

_PODS: Final = "see why its pods are not ready: kubectl describe pods, kubectl logs"
_OPERATOR: Final = "see what stops its installation: certwright cert-manager explain"

ADVICE: Final[dict[str, str]] = {
    GateReason.DEFINITIONS: "install them; an operator restores them, else "
    "certwright cert-manager explain tells why not",
    GateReason.NOT_WRITTEN: f"install cert-manager, or {_OPERATOR}",
    GateReason.ROLLOUT: _PODS,
    GateReason.CA_MISSING: "the cainjector writes it: look at the logs of its pods; the annotation"
    " cert-manager.io/inject-ca-from-secret names the Secret it is taken from",
    GateReason.UNTRUSTED: "the caBundle and the certificate of the webhook do not fit: delete the"
    " Secret cert-manager-webhook-ca, and restart webhook and cainjector",
    GateReason.UNREACHABLE: "the API server has to reach the port of the webhook: look for"
    " NetworkPolicies, firewalls between control plane and nodes, and host network settings",
    GateReason.UNUSED: "look at namespaceSelector and rules of the webhook configurations",
    GateReason.REFUSED: "look at the logs of the webhook, and for other policies that refuse it",
    GateReason.UNKNOWN: "the one who asks may lack the right to create Certificates in the"
    " namespace default",
    GateReason.UNAVAILABLE: "look at the pods and the Service of the webhook: the API server"
    " reaches it there; if it does not trust it, look at the cainjector",
    GateReason.NO_LEADER: "a new leader takes the Lease when the old one lets go of it, after a"
    " minute at the latest; if none does, look at the logs of the controller, and whether its"
    " ServiceAccount may write Leases",
    "StepTimedOut": "what ran before goes on; mend what the step waits for, or set spec.version"
    " back",
    "RolledBack": "mend what kept it from coming up; events and the logs of its pods tell",
    "MigrationFailed": "mend or delete the objects that are named: they cannot be stored anew",
    "StoredVersions": "mend or delete the objects that are named: they cannot be stored anew",
    "ObjectsNotWritten": "the API server refused objects: grant what the operator lacks"
    " (certwright rbac certmanager), or change what refuses them",
    "RemovalBlocked": "delete the Certificates, set spec.deletionPolicy.force, or keep the"
    " definitions with spec.deletionPolicy.crds: Retain",
    "BundleMissing": "make the bundle and publish it in the namespace of the operator",
    "CatalogCorrupt": "make the bundle again: it was damaged or changed",
    "UnsupportedVersion": "see what can be installed: certwright cert-manager versions",
    "UnknownFlag": "compare with what it would be: certwright cert-manager render",
    "Conflict": "delete one of the two custom resources; the other one takes over",
    "WrongName": "name it cluster",
}
"""By reason. Obstacles (`Hindrance`) are not here: their messages name the way out."""
