from msgspec import Struct, field

from certwright.kube import JsonObject
from certwright.runtime.writes.patches import status_patch


class Status(Struct, rename="camel", omit_defaults=True):
    ready: bool = False
    observed_generation: int = 0
    messages: list[str] = field(default_factory=list)


def live(status: str | JsonObject | None = None) -> JsonObject:
    obj = {"metadata": {"name": "a", "uid": "u", "resourceVersion": "7"}}
    return obj if status is None else {**obj, "status": status}


PRECONDITION = {"uid": "u", "resourceVersion": "7"}


def test_nothing_is_written_when_equal() -> None:
    assert status_patch(live({"ready": True}), {"ready": True}) is None
    assert status_patch(live({"ready": True}), Status(ready=True)) is None
    assert status_patch(live(), {}) is None


def test_a_default_is_the_same_spelt_out_or_not() -> None:
    assert status_patch(live({"ready": False, "messages": []}), Status()) is None


def test_the_patch_holds_the_difference_and_what_it_was_based_on() -> None:
    patch = status_patch(live({"ready": True, "observedGeneration": 1}), Status(ready=True))
    assert patch == {"metadata": PRECONDITION, "status": {"observedGeneration": None}}


def test_fields_a_typed_status_does_not_know_are_left_alone() -> None:
    before = {"ready": False, "addedByANewerVersion": 1}
    assert status_patch(live(before), Status(ready=True)) == {
        "metadata": PRECONDITION,
        "status": {"ready": True},
    }


def test_fields_missing_from_a_plain_status_are_removed() -> None:
    patch = status_patch(live({"old": 1, "kept": 2}), {"kept": 2})
    assert patch is not None
    assert patch["status"] == {"old": None}


def test_a_status_of_the_wrong_shape_is_replaced() -> None:
    patch = status_patch(live({"ready": "yes", "junk": 1}), Status(ready=True))
    assert patch is not None
    assert patch["status"] == {"ready": True, "junk": None}
    assert status_patch(live("broken"), {"ready": True}) is not None
