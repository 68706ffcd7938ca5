"""What people are shown of a plan."""

from certwright.apply import Action, Change, ChangeSet, ObjectRef
from certwright.apply.diff import Diff, FieldChange
from certwright.cli.certmanager.plan import without_digests


def test_digests_of_objects_are_not_shown() -> None:
    label = FieldChange('metadata.labels["app.kubernetes.io/version"]', "v1.20.3", "v1.21.2")
    digest = FieldChange('metadata.annotations["operators.redhat.io/digest"]', "1af4", "a74e")
    ref = ObjectRef("v1", "ServiceAccount", "cert-manager", "cert-manager")
    changes = ChangeSet.of([Change(ref, Action.CONFIGURED, diff=Diff((digest, label), 3))])
    [shown] = without_digests(changes).entries
    assert (shown.ref, shown.diff) == (ref, Diff((label,), 3))
