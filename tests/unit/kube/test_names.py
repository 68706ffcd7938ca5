import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from certwright.kube import hashed_name
from certwright.kube.names import (
    dns1035_label_problems,
    dns_label_problems,
    dns_subdomain_problems,
    generate_name,
    label_value_problems,
    qualified_name_problems,
    version_order,
)

DNS_1035 = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")


@pytest.mark.parametrize("name", ["a", "my-name", "123-abc", "a" * 63])
def test_accepts_dns_labels(name: str) -> None:
    assert dns_label_problems(name) == []


def test_explains_what_is_wrong_with_a_label_in_the_servers_words() -> None:
    assert dns_label_problems("My_Name") == [
        "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
    ]
    assert dns_label_problems("a.b") == ["must not contain dots"]
    assert dns_label_problems("a" * 64) == ["must be no more than 63 characters"]


@pytest.mark.parametrize("name", ["", "-a", "a-", "a\n", "é", "a..b"])
def test_refuses_what_is_no_subdomain(name: str) -> None:
    assert dns_subdomain_problems(name) == [
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
    ]


def test_bounds_subdomains_by_length() -> None:
    assert dns_subdomain_problems("a" * 253) == []
    assert dns_subdomain_problems("a" * 254) == ["must be no more than 253 characters"]


def test_a_dns_1035_label_starts_with_a_letter() -> None:
    assert dns1035_label_problems("abc-123") == []
    assert dns1035_label_problems("1abc") == [
        "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
    ]


@pytest.mark.parametrize(
    "name", ["app", "example.com/App.kubernetes_io", "a" * 63, "x.io/1", f"{'p' * 253}/{'n' * 63}"]
)
def test_accepts_qualified_names(name: str) -> None:
    assert qualified_name_problems(name) == []


def test_explains_what_is_wrong_with_a_qualified_name() -> None:
    form = "(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
    rule = f"must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character {form}"
    assert qualified_name_problems("") == ["name part must be non-empty", f"name part {rule}"]
    assert qualified_name_problems("/a") == ["prefix part must be non-empty"]
    assert qualified_name_problems("a" * 64) == ["name part must be no more than 63 bytes"]
    assert qualified_name_problems(f"{'p' * 254}/{'n' * 62}") == [
        "prefix part must be no more than 253 characters"
    ]
    assert qualified_name_problems("a/b/c") == [
        f"a valid label key {rule} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
    ]
    assert qualified_name_problems("X/b")[0].startswith(
        "prefix part a lowercase RFC 1123 subdomain"
    )


def test_label_values_may_be_empty_and_are_counted_in_bytes() -> None:
    assert label_value_problems("") == []
    assert label_value_problems("a" * 63) == []
    assert label_value_problems("a" * 64) == ["must be no more than 63 bytes"]
    assert len(label_value_problems("é" * 32)) == 2


def test_hashed_names_never_change() -> None:
    """They are in clusters: a new algorithm would orphan what the old one made."""
    assert hashed_name("web", "tls") == "web-tls-g4tbwgmqcv"
    assert hashed_name("web", "tls", limit=16) == "web-t-g4tbwgmqcv"
    assert hashed_name("123", "Ünï") == "n-64jcb29xbl"
    assert hashed_name("!") == "x-nfs95dsmb5"


@given(st.lists(st.text(), min_size=1, max_size=4), st.integers(12, 63))
def test_hashed_names_fit_every_kind(parts: list[str], limit: int) -> None:
    name = hashed_name(*parts, limit=limit)
    assert len(name) <= limit
    assert DNS_1035.fullmatch(name)
    assert name == hashed_name(*parts, limit=limit)


@given(
    st.lists(st.text("ab-", max_size=3), min_size=1, max_size=3),
    st.lists(st.text("ab-", max_size=3), min_size=1, max_size=3),
)
def test_different_parts_give_different_names(one: list[str], other: list[str]) -> None:
    assert (hashed_name(*one) == hashed_name(*other)) == (one == other)


@pytest.mark.parametrize("limit", [0, 11, 64])
def test_refuses_limits_that_leave_no_room_or_no_valid_name(limit: int) -> None:
    with pytest.raises(ValueError, match="limit from 12 to 63"):
        hashed_name("a", limit=limit)
    with pytest.raises(ValueError, match="got 0 parts"):
        hashed_name()


@given(st.integers())
def test_generated_names_end_in_five_unambiguous_characters(seed: int) -> None:
    name = generate_name("web-", random.Random(seed).randrange)  # noqa: S311 - not a secret
    assert re.fullmatch("web-[bcdfghjklmnpqrstvwxz2456789]{5}", name)


def test_generated_names_stay_within_63_characters() -> None:
    assert generate_name("a" * 80, lambda _: 0) == "a" * 58 + "bbbbb"


def test_versions_are_ordered_by_stability_and_number() -> None:
    best_first = [
        "v10",
        "v2",
        "v1",
        "v11beta2",
        "v10beta3",
        "v3beta1",
        "v12alpha1",
        "foo1",
        "foo10",
    ]

    shuffled = best_first[3:] + best_first[:3]

    assert sorted(shuffled, key=version_order) == best_first
