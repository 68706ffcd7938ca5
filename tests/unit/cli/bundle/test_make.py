"""`certwright bundle build` and `import`: files, and what is said when there is none."""

from pathlib import Path

import yaml
from tests.support.bundles.small import objects, small_bundle
from tests.support.bundles.tools import Tools
from tests.unit.cli.bundle.conftest import Run

from certwright.bundles.bundle import decode


def manifest(folder: Path, version: str = "v9.9.1") -> Path:
    path = folder / "cert-manager.yaml"
    path.write_text(yaml.safe_dump_all(objects(version)))
    return path


def test_a_manifest_is_imported(run: Run, tmp_path: Path) -> None:
    done = run("import", manifest(tmp_path))
    assert done.code == 0
    assert done.out == "bundles/cert-manager-v9.9.1.bundle   11 objects, 0 KB\n"
    assert done.err.endswith(
        "cert-manager v9.9.1: not in the catalogue: nothing to compare it with\n"
    )
    written = tmp_path / "bundles" / "cert-manager-v9.9.1.bundle"
    assert decode(written.read_bytes()) == small_bundle()
    assert [path.name for path in written.parent.iterdir()] == [written.name]  # nothing unfinished


def test_changed_contents_of_a_known_version_are_refused(run: Run, tmp_path: Path) -> None:
    done = run("import", manifest(tmp_path, "v1.21.2"))
    assert done.code == 2
    assert "not cert-manager v1.21.2 as it was released" in done.err
    assert not (tmp_path / "bundles").exists()
    own = run(
        "import", manifest(tmp_path, "v1.21.2"), "--version", "v1.21.2-mine.1", "--folder", "x"
    )
    assert (own.code, own.out[:39]) == (0, "x/cert-manager-v1.21.2-mine.1.bundle   ")


def test_mistakes_are_one_line(run: Run, tmp_path: Path, tools: Tools) -> None:
    assert run("import", "gone.yaml")[::2] == (2, "error: gone.yaml: no such file or folder\n")
    assert run("build")[::2] == (
        2, "error: name the versions to build, or --all; `certwright bundle list` has them\n",
    )  # fmt: skip
    assert run("build", "v1.21.2", "--all").code == 2
    unknown = run("build", "v1.99.0")
    assert unknown.code == 2
    assert unknown.err.startswith("error: cert-manager v1.99.0 is not in the catalogue, which has")
    missing = run("build", "1.21", "1.20")
    assert missing.code == 2
    assert missing.err.count("there is no Go to make bundles with") == 1
    (tmp_path / "file").write_text("")
    blocked = run("import", manifest(tmp_path), "--folder", "file")
    assert blocked.code == 2
    assert "file/cert-manager-v9.9.1.bundle cannot be written" in blocked.err


def test_one_version_that_fails_does_not_stop_the_others(run: Run, tools: Tools) -> None:
    tools.program("go", "sys.exit('no route to ' + sys.argv[4])")
    tools.helm()
    done = run("build", "1.20", "1.21")
    assert done.code == 2
    assert "error: github.com/cert-manager/cert-manager@v1.20.3: Go failed: no route" in done.err
    assert "error: github.com/cert-manager/cert-manager@v1.21.2: Go failed: no route" in done.err
    assert "[2/2] v1.21.2: fetching github.com/cert-manager/cert-manager" in done.err
