import pytest
from tests.unit.operators.managedresource.conftest import Make

from certwright.operators.managedresource.decision import ResourceClass, class_of

BASE = "resources.gardener.cloud/gardener-resource-manager"
NONE: list[str] = []
FOREIGN = [f"{BASE}-foreign"]
OWN = [BASE]


@pytest.mark.parametrize(
    ("finalizers", "class_", "responsible", "leaving", "waits", "concerns"),
    [
        (NONE, "foreign", False, False, False, False),
        (FOREIGN, "foreign", False, False, False, False),
        (OWN, "foreign", False, True, False, True),
        (NONE, None, True, False, False, True),
        (FOREIGN, None, True, False, True, True),
        (OWN, None, True, False, False, True),
        (["example.com/other"], None, True, False, False, True),
        ([*OWN, *FOREIGN], None, True, False, False, True),
        ([*FOREIGN, *OWN], None, True, False, True, True),
    ],
)
def test_the_default_class(
    make: Make,
    finalizers: list[str],
    class_: str | None,
    *,
    responsible: bool,
    leaving: bool,
    waits: bool,
    concerns: bool,
) -> None:
    resource, ours = make(finalizers=finalizers, class_=class_), ResourceClass()
    assert ours.responsible(resource) is responsible
    assert ours.leaving(resource) is leaving
    assert ours.waits(resource) is waits
    assert ours.concerns(resource) is concerns


@pytest.mark.parametrize(
    ("instance", "class_", "responsible"),
    [
        ("resources", None, True),
        ("resources", "", True),
        ("resources", "resources", True),
        ("resources", "seed", False),
        ("seed", None, False),
        ("seed", "", False),
        ("seed", "seed", True),
        ("*", None, True),
        ("*", "seed", True),
        ("*", "anything", True),
    ],
)
def test_who_is_responsible(
    make: Make, instance: str, class_: str | None, *, responsible: bool
) -> None:
    assert ResourceClass(instance).responsible(make(class_=class_)) is responsible


@pytest.mark.parametrize(
    ("instance", "finalizer"),
    [("resources", BASE), ("*", BASE), ("seed", f"{BASE}-seed")],
)
def test_finalizers(instance: str, finalizer: str) -> None:
    assert ResourceClass(instance).finalizer == finalizer


@pytest.mark.parametrize("finalizers", [OWN, FOREIGN, [*FOREIGN, *OWN], [f"{BASE}-seed"]])
@pytest.mark.parametrize("class_", [None, "seed", "foreign"])
def test_who_cares_for_all_classes_waits_for_none(
    make: Make, finalizers: list[str], class_: str | None
) -> None:
    everything, resource = ResourceClass("*"), make(finalizers=finalizers, class_=class_)
    assert not everything.waits(resource)
    assert not everything.leaving(resource)
    assert everything.held(resource) == finalizers
    assert everything.held_by_others(resource) == []


def test_only_finalizers_of_the_family_count(make: Make) -> None:
    resource = make(finalizers=["example.com/x", f"{BASE}s", BASE, f"{BASE}-seed"])
    assert ResourceClass().held(resource) == [BASE]
    assert ResourceClass().held_by_others(resource) == [f"{BASE}-seed"]
    assert ResourceClass("*").held(resource) == [BASE, f"{BASE}-seed"]


def test_no_class_is_the_default_class(make: Make) -> None:
    assert class_of(make()) == class_of(make(class_="")) == "resources"
    assert class_of(make(class_="seed")) == "seed"
