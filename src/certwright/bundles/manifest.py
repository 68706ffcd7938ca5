"""Bundles from what others hand in: the manifest of a release, or a chart."""

import os
import re
import tarfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from certwright.apply import read_files, read_text
from certwright.bundles.bundle import Bundle
from certwright.bundles.chart import (
    as_released,
    complete_chart,
    release_values,
    render_chart,
    render_files,
)
from certwright.bundles.errors import BuildError
from certwright.bundles.versions import Release
from certwright.kube import JsonObject

_GROUP: Final = ".cert-manager.io"
_TAG: Final = re.compile(r"/cert-manager-controller:([^@]+)")
_ARCHIVES: Final = (".tgz", ".tar.gz")
_MOST_CHART: Final = 16 * 1024 * 1024
"""Bytes of a chart, and of one file in it."""
_MOST_FILES: Final = 1000
_DEFINITIONS: Final = Path("..", "..", "crds")
"""Beside the folder of the chart in the sources, for versions whose chart has them not."""


def import_bundle(path: Path, version: str = "", environ: Mapping[str, str] = os.environ) -> Bundle:
    """Return the bundle of a manifest (file or folder of files) or of a chart (folder or archive).

    *version* is found in labels and images if it is empty.

    Raises:
        ToolMissing: it is a chart, and there is no Helm.
        BuildError: it is neither, or not whole.
    """
    if path.is_dir() and any(
        (path / name).exists() for name in ("Chart.yaml", "Chart.template.yaml")
    ):
        bundle = _from_folder(path, version, environ)
    elif path.name.endswith(_ARCHIVES):
        bundle = _from_archive(path, version, environ)
    else:
        bundle = _from_manifests(path, version)
    require_whole(bundle)
    return bundle


def require_whole(bundle: Bundle) -> None:
    """Raise `BuildError` unless definitions, workloads and registrations are there."""
    kinds = [obj["kind"] for obj in bundle.objects]
    definitions = [
        obj["metadata"]["name"]
        for obj in bundle.objects
        if obj["kind"] == "CustomResourceDefinition" and obj["metadata"]["name"].endswith(_GROUP)
    ]
    lacking = [
        what
        for what, there in (
            ("the six CustomResourceDefinitions of cert-manager", len(definitions) >= 6),
            ("three Deployments", kinds.count("Deployment") >= 3),
            ("a ValidatingWebhookConfiguration", "ValidatingWebhookConfiguration" in kinds),
        )
        if not there
    ]
    if lacking:
        raise BuildError(
            f"this is not the whole of cert-manager {bundle.version}: it lacks"
            f" {' and '.join(lacking)}; use cert-manager.yaml of a release, or its chart"
        )


def version_of(objects: Iterable[JsonObject]) -> str:
    """Return the version that the image of the controller has; `BuildError` if none."""
    tags = set()
    for obj in objects:
        if obj.get("kind") == "Deployment":
            for container in obj["spec"]["template"]["spec"]["containers"]:
                if found := _TAG.search(str(container.get("image"))):
                    tags.add(found[1])
    if len(tags) != 1:
        seen = f" (found: {', '.join(sorted(tags))})" if tags else ""
        raise BuildError(f"the version cannot be told from the images{seen}; add --version")
    return tags.pop()


def _from_manifests(path: Path, version: str) -> Bundle:
    manifests = read_files([path])
    if manifests.errors:
        raise BuildError(str(manifests.errors[0]))
    objects = [manifest.obj for manifest in manifests.objects]
    try:
        found = version or version_of(objects)
    except (KeyError, TypeError):
        raise BuildError(f"{path}: a Deployment without containers") from None
    return as_released(found, objects)


def _from_folder(path: Path, version: str, environ: Mapping[str, str]) -> Bundle:
    chart = _files(path)
    definitions = _files(path / _DEFINITIONS) if (path / _DEFINITIONS).is_dir() else {}
    found = version or _chart_version(chart.get("Chart.yaml", b""))
    return render_files(complete_chart(chart, definitions, found), found, environ)


def _from_archive(path: Path, version: str, environ: Mapping[str, str]) -> Bundle:
    try:
        with tarfile.open(path) as archive:
            chart = _members(archive)
    except (OSError, tarfile.TarError, EOFError) as error:
        raise BuildError(f"{path} cannot be read: {error}") from error
    found = version or _chart_version(chart.get("Chart.yaml", b""))
    return render_chart(path, release_values(chart), found, environ)


def _members(archive: tarfile.TarFile) -> dict[str, bytes]:
    """Return what has to be known of an archive before it is rendered."""
    found = {}
    for number, member in enumerate(archive):
        if number > _MOST_FILES or member.size > _MOST_CHART:
            raise BuildError(f"the archive has more than {_MOST_FILES} files, or too large ones")
        name = member.name.partition("/")[2]
        if name in {"Chart.yaml", "values.yaml"} and (stream := archive.extractfile(member)):
            found[name] = stream.read()
    return found


def _files(folder: Path) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    size = 0
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            size += path.stat().st_size
            if len(found) >= _MOST_FILES or size > _MOST_CHART:
                raise BuildError(f"{folder}: more files, or larger ones, than a chart has")
            found[path.relative_to(folder).as_posix()] = path.read_bytes()
    return found


def _chart_version(content: bytes) -> str:
    described = read_text(content, "Chart.yaml", allow_duplicates=True)
    found = described.objects[0].obj.get("appVersion") if described.objects else None
    text = str(found or "")
    try:
        if Release.parse(text) > Release(0, 1, 0):
            return text
    except ValueError:
        pass
    raise BuildError(
        f"Chart.yaml has no version of cert-manager (appVersion: {text[:50] or 'none'});"
        " add --version"
    )
