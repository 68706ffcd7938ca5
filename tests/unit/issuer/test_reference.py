"""The reference of the issuer library says what the code says."""

from tests.support.issuer.issuer_reference import (
    PAGE,
    class_in,
    members,
    tables,
    written,
)


def test_the_tables_of_the_page_follow_from_the_code() -> None:
    page = PAGE.read_text("utf-8")
    assert written(page) == page, "run: python -m tests.support.issuer.issuer_reference"


def test_everything_that_users_meet_has_a_sentence() -> None:
    for name, table in tables().items():
        rows = table.splitlines()[2:]
        assert rows, name
        silent = [row for row in rows if row.rstrip(" |").endswith("`") and name != "http"]
        assert not silent, silent


def test_the_tables_hold_what_is_known_to_be_there() -> None:
    request = {one.name: one.type for one in members(class_in("request.py", "Request"))}
    assert request["csr_pem"] == "str"
    assert request["usage_words"] == "tuple[str, ...]"
    assert request["await sign_with(authority)"] == "Bundle"
    assert "| 401, 403, 407 | `IssuerUnavailable` |" in tables()["http"]
    assert "| `max_retry` | `timedelta` | `timedelta(minutes=10)` |" in tables()["parameters"]
