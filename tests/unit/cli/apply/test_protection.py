"""Which objects are deleted only if a person names their kind, and what is shown before."""

import pytest

from certwright.apply import Action, ObjectRef
from certwright.cli.apply.inventory import deletion_plan
from certwright.cli.apply.protection import protection, split
from certwright.cli.options import Protected

SHOP = ObjectRef("v1", "Namespace", "", "shop")
TOYS = ObjectRef("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "toys.example.com")
DATA = ObjectRef("v1", "PersistentVolumeClaim", "shop", "data")
WEB = ObjectRef("apps/v1", "Deployment", "shop", "web")
LOOKALIKE = ObjectRef("example.com/v1", "Namespace", "shop", "x")


@pytest.mark.parametrize(
    ("asked", "stays"),
    [
        ((), {SHOP, TOYS, DATA}),
        ((Protected.NAMESPACES,), {TOYS, DATA}),
        ((Protected.CRDS, Protected.PVCS), {SHOP}),
        ((Protected.ALL,), set()),
    ],
)
def test_what_stays_unless_it_is_asked_for(
    asked: tuple[Protected, ...], stays: set[ObjectRef]
) -> None:
    refs = [WEB, DATA, TOYS, SHOP, LOOKALIKE]
    goes, kept = split(refs, protection(asked))
    assert {entry.ref for entry in kept} == stays
    assert goes == [ref for ref in refs if ref not in stays]
    assert all(entry.action is Action.KEPT for entry in kept)


def test_the_reason_says_what_would_go_along_and_what_to_type() -> None:
    assert protection(())(DATA) == (
        "it is protected: its data would go with it; add --delete-protected pvcs"
    )


def test_a_plan_names_what_goes_and_what_stays() -> None:
    goes, kept = split([WEB, SHOP], protection(()))
    assert deletion_plan(goes, kept, 5).splitlines() == [
        "1 of the 5 objects in this inventory is to be deleted:",
        "  Deployment shop/web",
        "these stay:",
        f"  Namespace shop: {protection(())(SHOP)}",
    ]


def test_a_long_plan_ends_with_a_number() -> None:
    refs = [ObjectRef("v1", "ConfigMap", "shop", f"m{n}") for n in range(25)]
    lines = deletion_plan(refs, [], 30).splitlines()
    assert lines[0] == "25 of the 30 objects in this inventory are to be deleted:"
    assert lines[-1] == "  and 5 more"
    assert len(lines) == 22
