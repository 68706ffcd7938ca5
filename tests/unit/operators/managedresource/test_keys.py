import pytest

from certwright.api import resourcekeys as keys


@pytest.mark.parametrize("value", ["1", "t", "T", "TRUE", "true", "True"])
def test_truthy_as_go_reads_booleans(value: str) -> None:
    assert keys.truthy(value)


@pytest.mark.parametrize("value", ["0", "yes", "y", "on", "tRUE", " true", "", None, True, 1])
def test_nothing_else_is_truthy(value: object) -> None:
    assert not keys.truthy(value)


def test_literally_means_one_word() -> None:
    assert keys.literally("true")
    assert not any(map(keys.literally, ["True", "TRUE", "1", "t", "", None, True]))


@pytest.mark.parametrize("metadata", [None, "x", {}, {"labels": None}, {"labels": "x"}])
def test_metadata_of_a_wrong_shape_holds_nothing(metadata: object) -> None:
    assert keys.labels_of({"metadata": metadata}) == {}
    assert keys.annotations_of({"metadata": metadata}) == {}
