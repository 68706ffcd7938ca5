"""`certwright bundle list`, `show`, `diff` and `images`."""

import json
from pathlib import Path

import pytest
import yaml
from tests.support.bundles.small import objects, small_bundle
from tests.unit.cli.bundle.conftest import Run

from certwright.bundles.bundle import encode, make_bundle
from certwright.bundles.sources import file_name


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with two bundles, where the commands look for one."""
    folder = tmp_path / "bundles"
    folder.mkdir()
    for version in ("v9.9.1", "v9.9.2"):
        (folder / file_name(version)).write_bytes(encode(small_bundle(version)))
    return folder


def test_versions_newest_first(run: Run, folder: Path) -> None:
    done = run("list")
    assert (done.code, done.err) == (0, "")
    lines = [line.split() for line in done.out.splitlines()]
    assert lines[0] == ["VERSION", "KUBERNETES", "DIGEST", "FILE"]
    assert lines[1] == [
        "v9.9.2",
        "-",
        small_bundle("v9.9.2").digest[:12],
        f"bundles/{file_name('v9.9.2')}",
    ]
    assert lines[3][:4] == ["v1.21.2", "1.33", "to", "1.36"]
    assert lines[3][-1] == "-"
    assert len(lines) == 1 + 23 + 2


def test_versions_for_programs(run: Run, folder: Path) -> None:
    listed = json.loads(run("list", "-o", "json").out)
    assert listed["default"] == "v1.21.2"
    assert [row["released"] for row in listed["versions"][:3]] == [False, False, True]


def test_without_bundles(run: Run) -> None:
    done = run("list")
    assert done.code == 0
    assert done.err == "no bundles in bundles; make one: certwright bundle build\n"


def test_a_damaged_file_hides_no_other(run: Run, folder: Path) -> None:
    (folder / file_name("v9.9.3")).write_bytes(b"nonsense")
    done = run("list")
    assert done.code == 2
    assert "v9.9.1" in done.out
    assert done.err == (
        "error: bundles/cert-manager-v9.9.3.bundle: not a bundle, or the beginning of one is"
        " missing; make it again: certwright bundle build v9.9.3\n"
    )


def test_what_is_in_a_bundle(run: Run, folder: Path) -> None:
    done = run("show", "v9.9.1")
    assert done.code == 0
    assert "Version:      v9.9.1\n" in done.out
    assert "As released:  not known\n" in done.out
    assert "  quay.io/jetstack/cert-manager-acmesolver:v9.9.1\n" in done.out
    assert "    6 CustomResourceDefinition\n" in done.out


def test_all_objects_of_a_bundle(run: Run, folder: Path) -> None:
    shown = list(yaml.safe_load_all(run("show", folder / file_name("v9.9.1"), "-o", "yaml").out))
    assert shown == list(small_bundle().objects)


@pytest.mark.parametrize("command", ["show", "images", "publish"])
def test_a_bundle_that_is_not_there(run: Run, folder: Path, command: str) -> None:
    done = run(command, "1.21")
    assert done.code == 2
    assert done.err == (
        "error: no bundle of cert-manager v1.21.2 (there are: v9.9.1, v9.9.2); run: certwright"
        " bundle build v1.21.2, then: certwright bundle publish v1.21.2\n"
    )
    unknown = run(command, "v1.21.9").err
    assert "there are: v9.9.1, v9.9.2); the catalogue does not have it either" in unknown
    assert "bundle build" not in unknown
    gone = run("show", "other/file.bundle")
    assert gone.code == 2
    assert "other/file.bundle: cannot be read: No such file or directory" in gone.err


def test_a_file_with_changed_contents_of_a_known_version(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.bundle").write_bytes(encode(small_bundle("v1.21.2")))
    done = run("show", "a.bundle")
    assert done.code == 2
    assert "a.bundle: not cert-manager v1.21.2 as it was released" in done.err


def test_what_an_upgrade_changes(run: Run, folder: Path) -> None:
    done = run("diff", "v9.9.1", "v9.9.2")
    assert done.code == 1
    assert done.out.startswith("changed  Deployment cert-manager/cert-manager\n  ")
    assert "cert-manager-controller:v9.9.2" in done.out
    assert done.err == "0 added, 0 removed, 3 changed, 8 unchanged\n"
    assert run("diff", "v9.9.1", "v9.9.1")[:2] == (0, "")


def test_what_an_upgrade_changes_for_programs(run: Run, folder: Path) -> None:
    newer = [obj for obj in objects("v1.22.1") if obj["kind"] != "ValidatingWebhookConfiguration"]
    (folder / file_name("v1.22.1")).write_bytes(encode(make_bundle("v1.22.1", newer)))
    own = encode(make_bundle("v1.20.3-mine.1", objects("v1.20.3")))
    (folder / file_name("v1.20.3-mine.1")).write_bytes(own)
    done = run("diff", "v1.20.3-mine.1", "v1.22.1", "-o", "json")
    assert done.code == 1
    found = json.loads(done.out)
    assert found["removed"] == [
        "admissionregistration.k8s.io/v1/ValidatingWebhookConfiguration//cert-manager-webhook"
    ]
    assert (found["added"], found["unchanged"], len(found["changed"])) == ([], 7, 3)
    assert {note["version"] for note in found["notes"]} == {"1.21"}


def test_images_of_all_bundles(run: Run, folder: Path) -> None:
    done = run("images")
    assert done.code == 0
    assert len(done.out.splitlines()) == 8
    assert "quay.io/jetstack/cert-manager-acmesolver:v9.9.2\n" in done.out
    assert len(run("images", "v9.9.1").out.splitlines()) == 4


def test_config_maps_are_printed(run: Run, folder: Path) -> None:
    done = run("publish", "v9.9.1", "-n", "operators", "-o", "yaml")
    assert done.code == 0
    (obj,) = yaml.safe_load_all(done.out)
    assert obj["kind"] == "ConfigMap"
    assert obj["metadata"]["namespace"] == "operators"
    assert run("publish", "v9.9.1", "-o", "yaml")[::2] == (
        2, "error: name the namespace of the operator with -n\n",
    )  # fmt: skip


def test_a_damaged_bundle_is_not_published(run: Run, folder: Path) -> None:
    path = folder / file_name("v9.9.1")
    path.write_bytes(path.read_bytes()[:-5])
    done = run("publish", "v9.9.1", "-n", "operators", "-o", "yaml")
    assert (done.code, done.out) == (2, "")
    assert "truncated" in done.err
