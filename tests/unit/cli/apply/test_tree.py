"""Trees of objects."""

from certwright.apply import Live, ObjectRef
from certwright.apply.health import Health, Verdict
from certwright.cli.apply.tree import Node, lines, owned_by


def node(kind: str, *children: Node, health: Health = Health.HEALTHY, message: str = "") -> Node:
    ref = ObjectRef("v1", kind, "ns", kind.lower())
    return Node(Verdict(ref, health, "", message), list(children))


def test_lines() -> None:
    tree = node(
        "Deployment",
        node("ReplicaSet", node("Pod", health=Health.UNHEALTHY, message="crashes")),
        node("Odd", health=Health.PROGRESSING),
    )
    assert list(lines([tree, node("ConfigMap")])) == [
        "✓ Deployment ns/deployment",
        "├─ ✓ ReplicaSet ns/replicaset",
        "│  └─ ✗ Pod ns/pod  crashes",
        "└─ … Odd ns/odd",
        "✓ ConfigMap ns/configmap",
    ]


def live(kind: str, name: str, owner: str = "") -> Live:
    references = [{"uid": owner}] if owner else []
    metadata = {"namespace": "ns", "name": name, "uid": name, "ownerReferences": references}
    return Live({"apiVersion": "v1", "kind": kind, "metadata": metadata})


def test_children_are_found_through_each_other_and_strangers_are_not() -> None:
    candidates = [
        live("Pod", "p2", "rs"), live("ReplicaSet", "rs", "web"),
        live("Pod", "p1", "rs"), live("Pod", "other", "elsewhere"),
    ]  # fmt: skip
    (found,) = owned_by(live("Deployment", "web"), candidates)
    assert found.verdict.ref.name == "rs"
    assert [child.verdict.ref.name for child in found.children] == ["p1", "p2"]


def test_programs_get_a_tree_too() -> None:
    assert node("A", node("B")).to_json()["owns"] == [node("B").to_json()]
