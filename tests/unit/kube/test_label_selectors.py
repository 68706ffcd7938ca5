import pytest
from hypothesis import given
from hypothesis import strategies as st

from certwright.kube import LabelSelector
from certwright.kube.selectors import Requirement, SelectorOperator

KEYS = st.sampled_from(["app", "in", "notin", "example.com/tier", "x", "a.b_c-d"])
VALUES = st.from_regex(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,5}[A-Za-z0-9])?)?", fullmatch=True)
NUMBERS = st.integers(0, 2**63 - 1).map(str)
REQUIREMENTS = st.one_of(
    st.builds(Requirement, KEYS, st.sampled_from([SelectorOperator.EQUALS, SelectorOperator.NOT_EQUALS]), st.tuples(VALUES)),
    st.builds(
        Requirement,
        KEYS,
        st.sampled_from([SelectorOperator.IN, SelectorOperator.NOT_IN]),
        st.lists(VALUES, min_size=1, max_size=4).map(tuple),
    ),
    st.builds(Requirement, KEYS, st.sampled_from([SelectorOperator.EXISTS, SelectorOperator.DOES_NOT_EXIST])),
    st.builds(Requirement, KEYS, st.sampled_from([SelectorOperator.GREATER_THAN, SelectorOperator.LESS_THAN]), st.tuples(NUMBERS)),
)  # fmt: skip
SELECTORS = st.builds(LabelSelector, st.lists(REQUIREMENTS, max_size=5).map(tuple))
LABELS = st.dictionaries(KEYS, st.one_of(VALUES, NUMBERS))


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("", ""),
        ("  ", ""),
        ("b=2,a=1", "a=1,b=2"),
        ("a==1", "a=1"),
        ("a != 1", "a!=1"),
        ("a in (z, b,a)", "a in (a,b,z)"),
        ("a notin(b)", "a notin (b)"),
        ("a in ()", "a in ()"),
        ("a in (,b)", "a in (,b)"),
        ("a in (b,)", "a in (,b)"),
        ("a in (b,,b)", "a in (,b)"),
        ("a", "a"),
        ("! a", "!a"),
        ("a=", "a="),
        ("a=,b", "a=,b"),
        ("a > 5 , a<9", "a<9,a>5"),
        ("in in (in),notin notin (notin)", "in in (in),notin notin (notin)"),
        ("a=1,a=1", "a=1"),
        ("\ta\n=\r1 ", "a=1"),
    ],
)
def test_reads_the_whole_grammar_and_prints_one_form(text: str, canonical: str) -> None:
    assert str(LabelSelector.parse(text)) == canonical


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,", "label selector 'a,': expected a requirement after ',', found the end"),
        (",a", "label selector ',a': expected a label key, found ','"),
        (
            "a b",
            "label selector 'a b': expected an operator (=, ==, !=, in, notin, <, >), found 'b'",
        ),
        ("a=b c", "label selector 'a=b c': expected ',', found 'c'"),
        ("a in b", "label selector 'a in b': expected '(', found 'b'"),
        ("a in (b", "label selector 'a in (b': expected ',', found the end"),
        ("a in (b c)", "label selector 'a in (b c)': expected ',', found 'c'"),
        ("!a=b", "label selector '!a=b': expected ',', found '='"),
        ("a===b", "label selector 'a===b': expected a value, found '='"),
        ("!", "label selector '!': expected a label key, found the end"),
        ("a>", "label a: > compares integers, not ''"),
        ("a<x", "label a: < compares integers, not 'x'"),
        ("a>9223372036854775808", "label a: > compares integers, not '9223372036854775808'"),
    ],
)
def test_says_where_a_text_is_wrong(text: str, message: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - compared in full
        LabelSelector.parse(text)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    "text", ["-a", "a/b/c", "a=-b", "a=é", "a in (b/c)", "a=" + "b" * 64, "a\x00=b"]
)
def test_refuses_keys_and_values_no_label_can_have(text: str) -> None:
    with pytest.raises(ValueError, match=r"alphanumeric|63 bytes"):
        LabelSelector.parse(text)


@pytest.mark.parametrize(
    ("text", "selected"),
    [
        ("", True),
        ("app=web", True),
        ("app=api", False),
        ("app!=api", True),
        ("app!=web", False),
        ("missing!=x", True),
        ("missing=", False),
        ("empty=", True),
        ("app in (api,web)", True),
        ("app notin (api,web)", False),
        ("missing notin (a)", True),
        ("missing in (a)", False),
        ("app", True),
        ("missing", False),
        ("!app", False),
        ("!missing", True),
        ("weight>4", True),
        ("weight>5", False),
        ("weight<6", True),
        ("app>1", False),
        ("missing<1", False),
        ("underscored>1", False),
        ("huge>1", False),
        ("app=web,weight>9", False),
    ],
)
def test_selects_by_labels(text: str, selected: bool) -> None:  # noqa: FBT001 - expected verdict
    labels = {"app": "web", "weight": "5", "empty": "", "underscored": "1_0", "huge": "9" * 30}
    assert LabelSelector.parse(text).matches(labels) is selected


def test_reads_the_form_used_in_objects() -> None:
    selector = LabelSelector.from_spec(
        {
            "matchLabels": {"tier": "db", "app": "web"},
            "matchExpressions": [
                {"key": "env", "operator": "In", "values": ["prod", "dev"]},
                {"key": "old", "operator": "NotIn", "values": ["yes"]},
                {"key": "a", "operator": "Exists"},
                {"key": "b", "operator": "DoesNotExist", "values": []},
            ],
        }
    )
    assert str(selector) == "a,app=web,!b,env in (dev,prod),old notin (yes),tier=db"


def test_an_empty_selector_selects_everything_and_an_absent_one_nothing() -> None:
    assert LabelSelector.from_spec({}).matches({"any": "thing"})
    nothing = LabelSelector.from_spec(None)
    assert not nothing.matches({})
    assert not nothing.matches({"nothing": ""})
    assert LabelSelector.parse(str(nothing)) == nothing


@pytest.mark.parametrize(
    "spec",
    [
        {"matchLabels": {"a": 1}},
        {"matchLabels": ["a"]},
        {"matchExpressions": [{"key": "a", "operator": "Gt", "values": ["1"]}]},
        {"matchExpressions": [{"operator": "Exists"}]},
        {"matchExpressions": [{"key": "a", "operator": "In"}]},
        {"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["x"]}]},
        {"matchExpressions": ["a"]},
    ],
)
def test_refuses_malformed_specs(spec: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"label selector|label a"):
        LabelSelector.from_spec(spec)


def test_each_operator_wants_its_number_of_values() -> None:
    with pytest.raises(ValueError, match="label a: = needs exactly one value"):
        Requirement("a", SelectorOperator.EQUALS, ("x", "y"))
    with pytest.raises(ValueError, match="label a: notin needs at least one value"):
        Requirement("a", SelectorOperator.NOT_IN)
    with pytest.raises(ValueError, match="label a: exists and does-not-exist take no values"):
        Requirement("a", SelectorOperator.EXISTS, ("x",))


def test_equal_requirements_make_equal_selectors() -> None:
    one, other = LabelSelector.parse("b,a==1"), LabelSelector.parse("a=1,b,b")
    assert one == other
    assert hash(one) == hash(other)
    assert LabelSelector.from_labels({"b": "", "a": "1"}) == LabelSelector.parse("a=1,b=")


@given(SELECTORS)
def test_what_was_printed_reads_as_the_same_selector(selector: LabelSelector) -> None:
    assert LabelSelector.parse(str(selector)) == selector


@given(st.lists(REQUIREMENTS, max_size=4), LABELS)
def test_a_selector_is_the_conjunction_of_its_requirements(
    requirements: list[Requirement], labels: dict[str, str]
) -> None:
    expected = all(LabelSelector((each,)).matches(labels) for each in requirements)
    assert LabelSelector(tuple(requirements)).matches(labels) is expected


@given(KEYS, st.lists(VALUES, min_size=1).map(tuple), LABELS)
def test_in_and_not_in_are_opposites(
    key: str, values: tuple[str, ...], labels: dict[str, str]
) -> None:
    inside = Requirement(key, SelectorOperator.IN, values)
    assert inside.matches(labels) is not Requirement(key, SelectorOperator.NOT_IN, values).matches(
        labels
    )


@given(st.text("a=!(),<> in1", max_size=20))
def test_any_text_is_a_selector_or_a_value_error(text: str) -> None:
    try:
        selector = LabelSelector.parse(text)
    except ValueError:
        return
    assert LabelSelector.parse(str(selector)) == selector
