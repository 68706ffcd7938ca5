"""Tables, JSON and YAML."""

import json

import yaml

from certwright.cli.options import Output
from certwright.cli.terminal.output import document, documents, one_line, shortened, table


def test_columns_are_as_wide_as_their_widest_cell_and_lines_end_with_their_text() -> None:
    assert table(["NAME", "AGE"], [["a", "1d"], ["longer", ""]]) == (
        "NAME     AGE\na        1d\nlonger   -"
    )


def test_a_table_without_rows_still_says_what_it_is_about() -> None:
    assert table(["NAME", "AGE"], []) == "NAME   AGE"


def test_a_cell_cannot_steer_the_terminal() -> None:
    assert table(["NAME"], [["a\n\x1b[2J"]]) == "NAME\na\\n\\x1b[2J"


def test_of_a_long_name_both_ends_are_shown() -> None:
    assert shortened("gateway", 7) == "gateway"
    assert shortened("gateway-one", 8) == "gate…one"


def test_documents() -> None:
    value = {"b": 1, "a": "ü"}
    assert json.loads(document(value, Output.JSON)) == value
    assert document(value, Output.YAML) == "b: 1\na: ü"


def test_several_documents() -> None:
    values = [{"kind": "A"}, {"kind": "B"}]
    assert list(yaml.safe_load_all(documents(values, Output.YAML))) == values
    assert json.loads(documents(values, Output.JSON))["items"] == values


def test_one_line() -> None:
    assert one_line("a\n  b\tc") == "a b c"
    assert one_line("x" * 200, 10) == "x" * 9 + "…"
