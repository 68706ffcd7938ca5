import pytest

from certwright.cli.errors import UsageError
from certwright.cli.samples import read_manifests

MAP = "{apiVersion: v1, kind: ConfigMap, metadata: {name: %s}}"


@pytest.fixture
def file(tmp_path):
    def file(content):
        path = tmp_path / "samples.yaml"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return file


def test_documents_and_lists_become_objects(file):
    text = f"---\n{MAP % 'a'}\n---\n# nothing\n---\n{{kind: List, items: [{MAP % 'b'}]}}\n"
    assert [item["metadata"]["name"] for item in read_manifests(file(text))] == ["a", "b"]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("a: [", "is not valid YAML in line 1: "),
        (b"\xff\xfe\x00", "cannot read "),
        ("just text", "document 1 is not a manifest: no apiVersion, kind and metadata"),
        ("{apiVersion: v1}", "document 1 is not a manifest: no kind"),
        ("{kind: ConfigMap}", "document 1 is not a manifest: no apiVersion"),
        (f"{MAP % 'a'}\n---\n{{apiVersion: v1, kind: A}}", "document 2 is not a manifest: no metadata.name"),
        ("{kind: List, items: [1]}", "document 1 is not a manifest"),
        ("!!python/object/apply:os.getcwd []", "is not valid YAML in line 1: could not determine a constructor"),
        (b"#" * (4 * 1024 * 1024 + 1), "is larger than 4 MiB"),
    ],
)  # fmt: skip
def test_what_is_no_manifest_is_refused_by_name(file, content, problem):
    path = file(content)
    with pytest.raises(UsageError) as caught:
        read_manifests(path)
    assert str(path) in str(caught.value)
    assert problem in str(caught.value)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(UsageError, match=r"cannot read .*nowhere\.yaml"):
        read_manifests(tmp_path / "nowhere.yaml")
