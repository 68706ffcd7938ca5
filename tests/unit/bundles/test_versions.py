import pytest

from certwright.bundles.versions import Minor, Release


def test_versions_compare_by_number() -> None:
    texts = ["v1.9.2", "v1.21.2", "v1.10.2", "v1.21.1", "v0.16.1"]
    assert sorted(texts, key=Release.parse) == [
        "v0.16.1",
        "v1.9.2",
        "v1.10.2",
        "v1.21.1",
        "v1.21.2",
    ]
    assert Minor.parse("1.9") < Minor.parse("1.10")
    assert Release.parse("v1.21.2").minor == Minor(1, 21)
    assert Release.parse("v1.21.2-mine.1").minor == Minor(1, 21)


@pytest.mark.parametrize("text", ["v1.21.2", "v1.21.2-mine.1", "v0.0.0"])
def test_a_version_is_written_as_it_was_read(text: str) -> None:
    assert str(Release.parse(text)) == text


@pytest.mark.parametrize(
    "text", ["", "1.21.2", "v1.21", "v1.21.2.3", "v01.2.3", "v1.2.3-", "v1.2.3\n", "v1.2.99999"]
)
def test_what_is_no_version(text: str) -> None:
    with pytest.raises(ValueError, match=r"not a version such as v1\.21\.2"):
        Release.parse(text)


@pytest.mark.parametrize("text", ["", "1", "v1.21", "1.21.2", "1.x"])
def test_what_is_no_minor_version(text: str) -> None:
    with pytest.raises(ValueError, match=r"not a minor version such as 1\.21"):
        Minor.parse(text)
