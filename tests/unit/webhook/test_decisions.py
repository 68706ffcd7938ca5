"""What a decision becomes on the wire."""

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.webhook import admission_body, config_map

from certwright.kube.errors import Cause
from certwright.kube.patches import apply_json_patch
from certwright.kube.reviews.admission import read_admission_review
from certwright.webhook.decisions import Allow, Deny, Patch, WrongDecision, respond

REQUEST = read_admission_review(admission_body())
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)


def test_allowed_carries_warnings_and_audit_annotations() -> None:
    answer = respond(REQUEST, Allow(["old field"], {"team": "a"}), mutating=False)
    assert (answer.uid, answer.allowed, answer.status) == (REQUEST.uid, True, None)
    assert answer.warnings == ["old field"]
    assert answer.audit_annotations == {"team": "a"}


def test_denied_carries_code_reason_message_and_causes() -> None:
    denied = Deny("no", 422, "Invalid", [Cause("FieldValueInvalid", "too long", "spec.name")])
    answer = respond(REQUEST, denied, mutating=False)
    assert not answer.allowed
    assert answer.status == {
        "status": "Failure",
        "code": 422,
        "reason": "Invalid",
        "message": "no",
        "details": {
            "causes": [{"reason": "FieldValueInvalid", "message": "too long", "field": "spec.name"}]
        },
    }


@pytest.mark.parametrize("code", [200, 0, 399, 600])
def test_a_denial_has_the_code_of_one(code: int) -> None:
    with pytest.raises(ValueError, match="400 to 599"):
        Deny("no", code)


@given(st.dictionaries(st.text(max_size=3), VALUES, max_size=4))
def test_the_patch_leads_to_the_wanted_object(wanted: dict[str, Any]) -> None:
    answer = respond(REQUEST, Patch(wanted), mutating=True)
    operations = orjson.loads(answer.patch) if answer.patch else []
    assert apply_json_patch(REQUEST.obj(), operations) == wanted
    assert answer.patch_type == ("JSONPatch" if operations else "")


def test_an_object_that_was_changed_in_place_is_patched_all_the_same() -> None:
    wanted = REQUEST.obj()
    wanted["metadata"]["labels"] = {"a/b": "c"}
    answer = respond(REQUEST, Patch(wanted), mutating=True)
    assert orjson.loads(answer.patch) == [
        {"op": "add", "path": "/metadata/labels", "value": {"a/b": "c"}}
    ]


def test_an_object_that_is_as_wanted_needs_no_patch() -> None:
    answer = respond(REQUEST, Patch(config_map()), mutating=True)
    assert (answer.patch, answer.patch_type) == (b"", "")


def test_what_an_api_server_would_not_accept_is_refused_here() -> None:
    with pytest.raises(WrongDecision, match="validating webhook cannot patch"):
        respond(REQUEST, Patch({}), mutating=False)
    deletion = read_admission_review(admission_body(object=None, operation="DELETE"))
    with pytest.raises(WrongDecision, match="DELETE has no object"):
        respond(deletion, Patch({}), mutating=True)
    nothing: Any = None
    with pytest.raises(WrongDecision, match="returned NoneType"):
        respond(REQUEST, nothing, mutating=True)
