"""Go and Helm as small programs that answer what a test wants them to."""

import json
import os
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path

import yaml
from tests.support.bundles.small import objects

from certwright.kube import JsonObject

_PYTHON = sys.executable
CHART = {
    "deploy/charts/cert-manager/Chart.yaml": b"name: cert-manager\nversion: v0.0.0\n",
    "deploy/charts/cert-manager/values.yaml": b"crds:\n  enabled: false\n",
    "deploy/charts/cert-manager/templates/all.yaml": b"",
    "deploy/crds/a.yaml": b"",
    "main.go": b"package main\n",
}


def module_zip(path: Path, prefix: str, files: Mapping[str, bytes] = CHART) -> Path:
    """Write the archive of a module."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            archive.writestr(f"{prefix}/{name}", content)
    return path


class Tools:
    """A folder of programs, and an environment that has nothing else in its PATH."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(exist_ok=True)
        self.environ = {**os.environ, "PATH": str(folder)}

    def program(self, name: str, code: str) -> None:
        """Write a program of Python code."""
        path = self.folder / name
        path.write_text(f"#!{_PYTHON}\nimport json, os, sys, time\n{code}\n")
        path.chmod(0o755)

    def go(self, archive: Path) -> None:
        """Let Go know one module."""
        answer = json.dumps({"Zip": str(archive)})
        self.program("go", f"print({answer!r})")

    def helm(self, rendered: list[JsonObject] | None = None) -> None:
        """Let Helm render objects, whatever the chart, and take note of its arguments."""
        text = yaml.safe_dump_all(objects() if rendered is None else rendered)
        note = str(self.folder / "helm.json")
        self.program(
            "helm",
            f"json.dump([sys.argv[1:], dict(os.environ)], open({note!r}, 'w'))\nprint({text!r})",
        )

    @property
    def helm_arguments(self) -> list[str]:
        arguments: list[str] = json.loads((self.folder / "helm.json").read_text())[0]
        return arguments
