"""What people are shown of a plan."""

from certwright.apply import Action, Change, ChangeSet, ObjectRef
from certwright.apply.diff import Diff, FieldChange
from certwright.cli.certmanager.plan import without_contents, without_digests


def test_digests_of_objects_are_not_shown() -> None:
    label = FieldChange('metadata.labels["app.kubernetes.io/version"]', "v1.20.3", "v1.21.2")
    digest = FieldChange('metadata.annotations["operators.redhat.io/digest"]', "1af4", "a74e")
    ref = ObjectRef("v1", "ServiceAccount", "cert-manager", "cert-manager")
    changes = ChangeSet.of([Change(ref, Action.CONFIGURED, diff=Diff((digest, label), 3))])
    [shown] = without_digests(changes).entries
    assert (shown.ref, shown.diff) == (ref, Diff((label,), 3))


def test_fields_of_new_objects_are_not_shown_and_those_of_others_are() -> None:
    field = FieldChange("spec.replicas", None, 2)
    new = ObjectRef("apps/v1", "Deployment", "cert-manager", "new")
    old = ObjectRef("apps/v1", "Deployment", "cert-manager", "old")
    changes = ChangeSet.of([
        Change(new, Action.CREATED, diff=Diff((field,))),
        Change(old, Action.CONFIGURED, diff=Diff((field,))),
    ])  # fmt: skip
    shown = {one.ref.name: one.diff.changes for one in without_contents(changes).entries}
    assert shown == {"new": (), "old": (field,)}
