"""cert-manager's chart, rendered as the manifests of its releases are.

Releases are rendered for Kubernetes 1.29 in the namespace ``cert-manager``, without the Job that
checks the API after ``helm install``, and without the labels that say that Helm manages them.
"""

import os
import re
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from certwright.apply import read_text
from certwright.bundles.bundle import Bundle, make_bundle
from certwright.bundles.errors import BuildError
from certwright.bundles.tools import HELM
from certwright.bundles.versions import Release
from certwright.kube import JsonObject

RENDERED_FOR: Final = "1.29.0"
"""The version of Kubernetes."""
NAME: Final = "cert-manager"
"""Of the release and of its namespace."""
_RENDER_SECONDS: Final = 120.0
_HELM_LABELS: Final = ("app.kubernetes.io/managed-by", "helm.sh/chart")
_NAMESPACE: Final[JsonObject] = {
    "apiVersion": "v1",
    "kind": "Namespace",
    "metadata": {"name": NAME},
}
_TEMPLATE: Final = "Chart.template.yaml"
_CHART: Final = "Chart.yaml"


def complete_chart(
    chart: Mapping[str, bytes], definitions: Mapping[str, bytes], version: str
) -> dict[str, bytes]:
    """Return the files of a chart as it is packaged for a release, by path.

    In the sources the chart has no version, and up to 1.18 the definitions lie beside it.
    """
    whole = {path: content for path, content in chart.items() if not path.endswith(".bazel")}
    described = whole.pop(_TEMPLATE, None) or whole.get(_CHART)
    if described is None:
        raise BuildError(f"the chart of {version} has neither {_CHART} nor {_TEMPLATE}")
    text = described.decode()
    for field in ("version", "appVersion"):
        text, found = re.subn(rf"(?m)^{field}:.*$", f"{field}: {version}", text)
        if not found:
            text += f"\n{field}: {version}\n"
    whole[_CHART] = text.replace("{{IS_PRERELEASE}}", "false").encode()
    if not any(path.startswith("templates/crd") for path in whole):
        for path, content in definitions.items():
            # The definitions of the first versions are there twice, once for Kubernetes 1.15.
            if path.endswith(".yaml") and not path.endswith(".v1beta1.yaml"):
                whole[f"templates/{path}"] = content
    return whole


def release_values(chart: Mapping[str, bytes]) -> list[str]:
    """Return the values with which releases are rendered, as ``name=value``."""
    values = ["creator=static", "startupapicheck.enabled=false"]
    known = chart.get("values.yaml", b"")
    enabled = "crds.enabled" if re.search(rb"(?m)^crds:", known) else "installCRDs"
    return [*values, f"{enabled}=true"]


def render_files(
    chart: Mapping[str, bytes],
    version: str,
    environ: Mapping[str, str] = os.environ,
    *,
    kubernetes: str = RENDERED_FOR,
) -> Bundle:
    """Render the files of a whole chart; see `render_chart` for what is raised."""
    with tempfile.TemporaryDirectory(prefix="certwright-") as folder:
        for path, content in chart.items():
            target = Path(folder) / NAME / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
        values = release_values(chart)
        return render_chart(Path(folder) / NAME, values, version, environ, kubernetes=kubernetes)


def render_chart(
    chart: Path,
    values: Iterable[str],
    version: str,
    environ: Mapping[str, str] = os.environ,
    *,
    kubernetes: str = RENDERED_FOR,
) -> Bundle:
    """Render a whole chart, a folder or an archive, with Helm.

    Raises:
        ToolMissing: there is no Helm.
        BuildError: Helm fails, or what it prints is no manifest.
    """
    arguments = ["template", NAME, str(chart.absolute()), "--namespace", NAME]
    arguments += ["--kube-version", kubernetes, "--include-crds"]
    arguments += [part for value in values for part in ("--set", value)]
    with tempfile.TemporaryDirectory(prefix="certwright-") as home:
        # Plugins and repositories of the user must not have a say.
        homes = {f"HELM_{what}_HOME": home for what in ("CACHE", "CONFIG", "DATA")}
        rendered = HELM.run(
            arguments,
            folder=Path(home), environ={**environ, **homes}, seconds=_RENDER_SECONDS,
        )  # fmt: skip
    manifests = read_text(rendered, f"the chart of {version}", allow_duplicates=True)
    if manifests.errors:
        raise BuildError(f"Helm printed what is no manifest: {manifests.errors[0]}")
    return as_released(version, (manifest.obj for manifest in manifests.objects))


def as_released(version: str, objects: Iterable[JsonObject]) -> Bundle:
    """Return the bundle of objects that were rendered, with their namespace.

    Raises:
        BuildError: they cannot be a bundle.
    """
    kept = [_without_helm(obj) for obj in objects]
    if not any(obj.get("kind") == "Namespace" for obj in kept):
        kept.append(_NAMESPACE)
    try:
        Release.parse(version)
        return make_bundle(version, kept)
    except ValueError as error:
        raise BuildError(f"cert-manager {version[:50]}: {error}") from error


def _without_helm(obj: JsonObject) -> JsonObject:
    """Return an object without the labels that say that Helm manages it, as releases are."""
    kept = dict(obj)
    if "metadata" in kept:
        kept["metadata"] = _unlabelled(kept["metadata"])
    spec = kept.get("spec")
    if isinstance(spec, dict) and isinstance(spec.get("template"), dict):
        template = {**spec["template"], "metadata": _unlabelled(spec["template"].get("metadata"))}
        kept["spec"] = {**spec, "template": template}
    return kept


def _unlabelled(metadata: object) -> object:
    if not isinstance(metadata, dict) or not isinstance(metadata.get("labels"), dict):
        return metadata
    labels = {key: value for key, value in metadata["labels"].items() if key not in _HELM_LABELS}
    return {**metadata, "labels": labels}
