from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from certwright.kube import Quantity
from certwright.kube.quantities import Format

NANOS = st.integers(-(10**30), 10**30)
QUANTITIES = st.builds(Quantity, NANOS, st.sampled_from(Format))


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("0", "0"), ("-0", "0"), ("0Ki", "0"), ("0e3", "0"), ("0.000", "0"),
        ("1", "1"), ("12", "12"), ("1000", "1k"), ("1000000", "1M"), ("1100", "1100"),
        ("0.1", "100m"), ("0.5", "500m"), ("1.5", "1500m"), ("1500m", "1500m"), ("1000m", "1"),
        ("-0.1", "-100m"), (".5", "500m"),
        ("1Ki", "1Ki"), ("1024Ki", "1Mi"), ("1.5Gi", "1536Mi"), ("0.5Ki", "512"), ("1023Ki", "1023Ki"),
        ("1024Mi", "1Gi"), ("-1.5Ki", "-1536"), ("0.1Ki", "102400m"), ("5Ei", "5Ei"),
        ("1e3", "1e3"), ("1E3", "1E3"), ("1.5e3", "1500"), ("1e2", "100"), ("1e6", "1e6"), ("1000e3", "1e6"),
        ("1e-3", "1e-3"), ("1e100", "10e99"), ("1E", "1E"), ("1k", "1k"),
        ("1n", "1n"), ("0.1n", "1n"), ("-0.1n", "-1n"), ("1.0000000001", "1000000001n"), ("1e-999999", "1e-9"),
        ("9223372036854775807", "9223372036854775807"), ("100Ei", "9223372036854775807"),
        ("1000E", "1000E"), ("1000000E", "1000000E"),
    ],
)  # fmt: skip
def test_prints_the_canonical_form(text: str, canonical: str) -> None:
    assert str(Quantity.parse(text)) == canonical


@pytest.mark.parametrize(
    "text", ["1.500", "+5", "5.", "007", "+12Ki", "1.250k", "12.345", "+123456789012345678"]
)
def test_keeps_texts_that_the_server_takes_for_canonical(text: str) -> None:
    assert str(Quantity.parse(text)) == text


@pytest.mark.parametrize(
    "text",
    ["", " ", ".", "+", "-", "Ki", "1K", "1i", "1e", "1e3k", "1 Gi", "1GiB", "1,5", "0x10", "\u0661", "1e5000", "--1", "nan", "1e3.5"],
)  # fmt: skip
def test_refuses_what_is_no_quantity(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not a quantity such as|exponent is larger"):
        Quantity.parse(text)


def test_knows_every_suffix() -> None:
    decimal = [Quantity.parse(f"7{suffix}").value for suffix in ("n", "u", "m", "", *"kMGTPE")]
    assert decimal == [Decimal(7).scaleb(power) for power in range(-9, 19, 3)]
    binary = [int(Quantity.parse(f"7{prefix}i")) for prefix in "KMGTPE"]
    assert binary == [7 * 1024**power for power in range(1, 7)]
    assert str(Quantity.parse("+1234567890123456789")) == "1234567890123456789"


def test_refuses_truth_values() -> None:
    with pytest.raises(ValueError, match="True is not a quantity"):
        Quantity.parse(True)


def test_reads_bare_numbers_and_surrounding_space_as_the_server_does() -> None:
    assert Quantity.parse(2) == Quantity.parse("2")
    assert Quantity.parse(0.5) == Quantity.parse("500m")
    assert Quantity.parse(" 2Gi ") == Quantity.parse("2Gi")


def test_compares_by_value_across_suffixes() -> None:
    assert Quantity.parse("1k") == Quantity.parse("1e3") == Quantity.parse("1000.0")
    assert hash(Quantity.parse("1k")) == hash(Quantity.parse("1e3"))
    assert Quantity.parse("1Ki") > Quantity.parse("1k") >= Quantity.parse("999")
    assert Quantity.parse("1k") != "1k"
    assert not Quantity.parse("0")


def test_knows_the_exact_value_and_rounds_up_to_whole_units() -> None:
    assert Quantity.parse("123456789123456789123456789.000000001").value == Decimal(
        "123456789123456789123456789.000000001"
    )
    assert Quantity.parse("-1500m").value == Decimal("-1.5")
    assert int(Quantity.parse("1001m")) == 2
    assert int(Quantity.parse("-1001m")) == -2
    assert Quantity.parse("0.0001").millis == 1
    assert Quantity.parse("2").millis == 2000


def test_arithmetic_keeps_the_suffix_family() -> None:
    assert str(Quantity.parse("1Gi") + Quantity.parse("512Mi")) == "1536Mi"
    assert str(Quantity.parse("1") - Quantity.parse("1500m")) == "-500m"
    assert str(Quantity.parse("0") + Quantity.parse("2Ki")) == "2Ki"
    assert str(Quantity.parse("0") - Quantity.parse("2Ki")) == "-2Ki"
    assert str(Quantity.parse("250m") * 4) == "1"
    assert str(-Quantity.parse("1Ki")) == "-1Ki"
    assert str(Quantity.parse("1023Ei".replace("E", "P")) + Quantity.parse("1Pi")) == "1Ei"


@given(QUANTITIES)
def test_the_canonical_form_means_the_same(quantity: Quantity) -> None:
    if quantity.format is Format.BINARY and abs(quantity.nanos) >= 2**63 * 10**9:
        return  # the server caps these when they are read
    again = Quantity.parse(str(quantity))
    assert again == quantity
    assert str(again) == str(quantity)


@given(QUANTITIES, QUANTITIES)
def test_addition_and_comparison_agree_with_exact_arithmetic(
    one: Quantity, other: Quantity
) -> None:
    assert (one + other).nanos == one.nanos + other.nanos
    assert (one - other) + other == one
    assert (one < other) == (one.value < other.value)


@given(
    st.from_regex(
        r"[+-]?[0-9]{1,20}(\.[0-9]{0,12})?([numkMGTPE]|[KMGTP]i|e[+-]?[0-9])?", fullmatch=True
    )
)
def test_reading_what_was_printed_changes_nothing(text: str) -> None:
    quantity = Quantity.parse(text)
    assert Quantity.parse(str(quantity)) == quantity
    assert str(Quantity.parse(str(quantity))) == str(quantity)
