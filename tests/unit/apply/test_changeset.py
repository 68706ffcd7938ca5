"""What is told about objects after the fact."""

from certwright.apply.changeset import Action, Change, ChangeSet, LastWriter, last_foreign_writer
from certwright.apply.diff import compare
from certwright.apply.refs import ObjectRef
from certwright.kube import JsonObject
from certwright.kube.ownership import FieldSet

WEB = ObjectRef("apps/v1", "Deployment", "shop", "web")
CONFIG = ObjectRef("v1", "ConfigMap", "shop", "config")
CLUSTER = ObjectRef("v1", "Namespace", "", "shop")

CHANGES = ChangeSet.of(
    [
        Change(CLUSTER, Action.UNCHANGED),
        Change(
            WEB,
            Action.CONFIGURED,
            diff=compare({"spec": {"replicas": 2}}, {"spec": {"replicas": 3, "paused": True}}),
            writer=LastWriter("kubectl-edit", "Update", "2026-11-15T07:00:00Z"),
        ),
        Change(CONFIG, Action.FAILED, "denied\nby a   webhook"),
    ]
)


def test_one_line_per_object() -> None:
    assert str(CHANGES) == (
        "Namespace shop unchanged\n"
        "Deployment shop/web configured (last written by kubectl-edit at 2026-11-15T07:00:00Z)\n"
        "ConfigMap shop/config failed: denied by a webhook"
    )


def test_with_differences() -> None:
    assert CHANGES.render().splitlines()[2:5] == [
        "    + spec.paused: true",
        "    - spec.replicas: 2",
        "    + spec.replicas: 3",
    ]


def test_for_programs() -> None:
    assert CHANGES.to_json()["changes"] == [
        {"apiVersion": "v1", "kind": "Namespace", "name": "shop", "action": "unchanged"},
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "namespace": "shop",
            "name": "web",
            "action": "configured",
            "changes": [{"path": "spec.paused", "new": True}, {"path": "spec.replicas", "old": 2, "new": 3}],
            "lastWriter": {"manager": "kubectl-edit", "operation": "Update", "time": "2026-11-15T07:00:00Z"},
        },
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "namespace": "shop",
            "name": "config",
            "action": "failed",
            "reason": "denied\nby a   webhook",
        },
    ]  # fmt: skip


def test_what_it_amounts_to() -> None:
    assert CHANGES.changed
    assert not CHANGES.complete
    assert CHANGES.summary() == "1 configured, 1 unchanged, 1 failed"
    assert [entry.ref for entry in CHANGES.with_action(Action.FAILED)] == [CONFIG]
    calm = ChangeSet.of([Change(WEB, Action.UNCHANGED), Change(CONFIG, Action.KEPT)])
    assert calm.complete
    assert not calm.changed
    assert not ChangeSet.of([Change(WEB, Action.BLOCKED)]).complete
    assert ChangeSet().summary() == "nothing to do"
    assert len((calm | CHANGES).entries) == 5


def test_long_reasons_are_cut() -> None:
    assert len(str(Change(WEB, Action.FAILED, "x" * 5000))) < 1100


def test_long_values_are_cut() -> None:
    entry = Change(CONFIG, Action.CONFIGURED, diff=compare({"a": "x" * 9000}, {"a": ["y" * 9000]}))
    (change,) = entry.to_json()["changes"]
    assert change["old"] == "x" * 4096 + "…"
    assert change["new"] == '["' + "y" * 4094 + "…"


def managed(*entries: str | JsonObject) -> JsonObject:
    return {"metadata": {"managedFields": list(entries)}}


def owner(manager: str, time: str, fields: JsonObject | None = None, **more: str) -> JsonObject:
    return {
        "manager": manager,
        "operation": "Update",
        "time": time,
        "fieldsV1": fields or {},
        **more,
    }


def test_the_last_foreign_writer_is_neither_us_nor_a_status() -> None:
    obj = managed(
        owner("kubectl", "2026-11-15T07:00:00Z"),
        owner("ours", "2026-11-15T09:00:00Z"),
        owner("hpa", "2026-11-15T08:00:00Z"),
        owner("kubelet", "2026-11-15T10:00:00Z", subresource="status"),
        "junk",
    )
    assert last_foreign_writer(obj, {"ours"}) == LastWriter("hpa", "Update", "2026-11-15T08:00:00Z")


def test_only_writers_of_given_fields_are_asked() -> None:
    obj = managed(
        owner("kubectl", "2026-11-15T07:00:00Z", {"f:data": {"f:a": {}}}),
        owner("other", "2026-11-15T08:00:00Z", {"f:data": {"f:b": {}}}),
        owner("broken", "2026-11-15T09:00:00Z", {"x": 1}),
    )
    fields = FieldSet.parse({"f:data": {"f:a": {}}})
    assert str(last_foreign_writer(obj, (), fields)) == "kubectl at 2026-11-15T07:00:00Z"
    assert last_foreign_writer(managed(), ()) is None
    assert last_foreign_writer({}, ()) is None
