"""The command line in this process, with a folder of bundles of small releases."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from certwright.bundles.bundle import encode, make_bundle
from certwright.bundles.sources import file_name
from certwright.cli.main import main
from certwright.testkit.actors.certmanager import small_release

SMALL = "v1.21.2-small"
"""As released it would have to have the digest of the release."""


class Done(NamedTuple):
    code: Any
    out: str
    err: str


Run = Callable[..., Done]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run ``certwright cert-manager`` in a folder with one bundle."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    (tmp_path / "bundles").mkdir()
    bundle = make_bundle(SMALL, small_release(SMALL))
    (tmp_path / "bundles" / file_name(SMALL)).write_bytes(encode(bundle))

    def run(*words: str | Path) -> Done:
        monkeypatch.setattr(sys, "argv", ["certwright", "cert-manager", *map(str, words)])
        code: Any = 0
        try:
            main()
        except SystemExit as ending:
            code = ending.code or 0
        captured = capsys.readouterr()
        return Done(code, captured.out, captured.err)

    return run


@pytest.fixture
def declare(tmp_path: Path) -> Callable[..., Path]:
    """Write a CertManagerDeployment into a file; return its path."""

    def declare(name: str = "cluster", **spec: Any) -> Path:
        path = tmp_path / "cr.yaml"
        head = {"apiVersion": "operators.redhat.io/v1alpha1", "kind": "CertManagerDeployment"}
        path.write_text(yaml.safe_dump({**head, "metadata": {"name": name}, "spec": spec}), "utf-8")
        return path

    return declare
