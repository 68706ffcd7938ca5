"""Which programs stand on a node for cert-manager's images."""

import os
from collections.abc import Mapping, Sequence
from typing import Final

from certwright.testkit.certmanager.assets import COMPONENTS, VERSIONS, obtain_cert_manager
from certwright.testkit.controlplane.gobuild import Progress
from certwright.testkit.node import Program

_IMAGE: Final = "quay.io/jetstack/cert-manager"


def cert_manager_images(
    versions: Sequence[str] = VERSIONS,
    environ: Mapping[str, str] = os.environ,
    progress: Progress = print,
) -> dict[str, Program]:
    """Return what stands on a node for the images of versions, building them if need be."""
    images: dict[str, Program] = {}
    for version in versions:
        assets = obtain_cert_manager(environ, progress, version)
        for component in COMPONENTS:
            program = Program((str(assets.folder / component),))
            images[f"{_IMAGE}-{component}:v{version}"] = program
    return images
