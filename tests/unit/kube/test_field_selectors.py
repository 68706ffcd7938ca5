import pytest
from hypothesis import given
from hypothesis import strategies as st

from certwright.kube.selectors import FieldRequirement, FieldSelector

FIELDS = st.sampled_from(["metadata.name", "metadata.namespace", "spec.nodeName", "status.phase"])
SELECTORS = st.lists(st.builds(FieldRequirement, FIELDS, st.text(), st.booleans()), max_size=4).map(
    lambda requirements: FieldSelector(tuple(requirements))
)


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("", ""),
        (",,", ""),
        ("metadata.name=web", "metadata.name=web"),
        ("metadata.name==web", "metadata.name=web"),
        ("b!=2,,a=1", "a=1,b!=2"),
        ("a=", "a="),
        (r"a=x\,y\=z\\", r"a=x\,y\=z\\"),
        ("a=b!", "a=b!"),
    ],
)
def test_reads_the_whole_grammar_and_prints_one_form(text: str, canonical: str) -> None:
    assert str(FieldSelector.parse(text)) == canonical


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a", "'a' has no operator; use =, == or !="),
        ("=b", "'' is not the path of a field"),
        ("a=b=c", "in 'a=b=c', write"),
        (r"a=\b", "write"),
        ("a=b\\", "write"),
        (r"a\,b=c", "is not the path of a field"),
    ],
)
def test_says_which_part_is_wrong(text: str, problem: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - compared below
        FieldSelector.parse(text)
    assert problem in str(caught.value)


def test_unescapes_values() -> None:
    assert FieldSelector.parse(r"a=x\,y\=z\\").matches({"a": "x,y=z\\"})


@pytest.mark.parametrize(
    ("text", "selected"),
    [
        ("", True),
        ("metadata.name=web", True),
        ("metadata.name!=web", False),
        ("spec.nodeName=", True),
        ("spec.nodeName!=", False),
        ("metadata.name=web,spec.nodeName=a", False),
    ],
)
def test_selects_by_fields_where_unset_is_empty(text: str, selected: bool) -> None:  # noqa: FBT001
    fields = {"metadata.name": "web"}
    selector = FieldSelector.parse(text)
    assert selector.matches(fields) is selected
    assert selector.matches(lambda path: fields.get(path, "")) is selected


@given(SELECTORS)
def test_what_was_printed_reads_as_the_same_selector(selector: FieldSelector) -> None:
    assert FieldSelector.parse(str(selector)) == selector


@given(FIELDS, st.text(), st.text())
def test_equal_and_not_equal_are_opposites(field: str, wanted: str, actual: str) -> None:
    equal = FieldSelector((FieldRequirement(field, wanted),))
    unequal = FieldSelector((FieldRequirement(field, wanted, equal=False),))
    assert equal.matches({field: actual}) is (wanted == actual)
    assert unequal.matches({field: actual}) is (wanted != actual)
