"""cert-manager's chart of a version, rendered by Helm with any values."""

import json
import os
import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest
import yaml

from certwright.bundles.build import chart_of
from certwright.bundles.catalogue import load
from certwright.bundles.chart import release_values
from certwright.bundles.errors import ModuleUnavailable, ToolMissing
from certwright.bundles.module import fetch
from certwright.bundles.tools import HELM
from certwright.kube import JsonObject


@dataclass(frozen=True)
class Chart:
    """The files of a chart, in a folder."""

    version: str
    folder: Path
    settings: tuple[str, ...]

    @cached_property
    def _templates(self) -> str:
        return "\n".join(
            path.read_text("utf-8")
            for path in sorted((self.folder / "templates").iterdir())
            if path.suffix in {".yaml", ".tpl"} and not path.name.startswith(("crd", "startup"))
        )

    def knows(self, value: str) -> bool:
        """Return whether the templates use a value, such as ``global.nodeSelector``."""
        if value.startswith("global.leaderElection"):
            value = "global.leaderElection"
        return re.search(rf"\.Values\.{re.escape(value)}\b", self._templates) is not None

    def render(
        self, values: Mapping[str, Any], namespace: str, *, definitions: bool
    ) -> list[JsonObject]:
        """Render it as releases are, but for the values; the definitions take most of the time."""
        switches = ("crds.enabled=", "installCRDs=")
        settings = [
            f"{value.partition('=')[0]}={str(definitions).lower()}"
            if value.startswith(switches)
            else value
            for value in self.settings
        ]
        with tempfile.TemporaryDirectory(prefix="certwright-") as home:
            file = Path(home) / "values.json"
            file.write_text(json.dumps(values))
            homes = {f"HELM_{what}_HOME": home for what in ("CACHE", "CONFIG", "DATA")}
            arguments = ["template", "cert-manager", str(self.folder), "--namespace", namespace]
            arguments += ["--kube-version", "1.29.0", "--values", str(file)]
            arguments += [part for value in settings for part in ("--set", value)]
            text = HELM.run(
                arguments, folder=Path(home), environ={**os.environ, **homes}, seconds=120
            )
        documents = yaml.load_all(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        kinds = () if definitions else ("CustomResourceDefinition",)
        return [obj for obj in documents if obj and obj["kind"] not in kinds]


def unpack_chart(version: str, folder: Path) -> Chart:
    """Write the chart of a version to a folder; skip the test if it cannot be had here."""
    try:
        HELM.find()
        files = chart_of(fetch(load().version(version)), version)
    except (ToolMissing, ModuleUnavailable) as error:
        pytest.skip(str(error))
    for path, content in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
    return Chart(version, folder, tuple(release_values(files)))
