import hashlib

from hypothesis import given
from hypothesis import strategies as st

from certwright.operators.managedresource import declared as module
from certwright.operators.managedresource.declared import Content, checksum


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def test_nothing_at_all() -> None:
    assert checksum([]) == sha256(b"")


def test_each_document_feeds_the_whole_value() -> None:
    assert checksum([Content(b"abc", 1)]) == sha256(b"abc")
    assert checksum([Content(b"abc", 3)]) == sha256(b"abcabcabc")


def test_values_without_documents_do_not_count() -> None:
    assert checksum([Content(b"a", 1), Content(b"# nothing", 0), Content(b"b", 1)]) == sha256(b"ab")


def test_the_order_counts() -> None:
    one, two = Content(b"a", 1), Content(b"b", 1)
    assert checksum([one, two]) != checksum([two, one])


@given(st.lists(st.builds(Content, st.binary(max_size=50), st.integers(0, 4)), max_size=5))
def test_it_is_the_hash_of_all_repetitions(contents: list[Content]) -> None:
    assert checksum(contents) == sha256(b"".join(c.value * c.documents for c in contents))


def test_thousands_of_documents_in_a_large_value_cost_no_more_than_a_few() -> None:
    large = b"x" * (1024 * 1024)
    found = checksum([Content(large, 5000)])
    assert found == sha256(large + b"5000")
    assert found != checksum([Content(large, 5001)])
    assert 16 * len(large) == module.MOST_REPEATED
    assert checksum([Content(large, 16)]) == sha256(large * 16)
