"""Bundles of the releases of cert-manager, for tests: built once, kept in the cache folder.

Nothing rendered is part of this package. What is in the cache is checked against the digest of the
catalogue at every use.
"""

import os
import sys
from collections.abc import Mapping

from certwright.bundles.build import build
from certwright.bundles.bundle import Bundle, encode
from certwright.bundles.catalogue import load
from certwright.bundles.errors import BundleError
from certwright.bundles.sources import file_name, read_file
from certwright.testkit.controlplane.gobuild import Progress, cache_root


def released_bundle(
    version: str, environ: Mapping[str, str] = os.environ, progress: Progress = print
) -> Bundle:
    """Return the bundle of a version, built the first time, which takes some seconds.

    Raises:
        UnknownVersion: the catalogue does not have it.
        ToolMissing: there is no Go, or no Helm.
        BuildError: it cannot be built.
    """
    catalogue = load()
    path = cache_root(environ) / "bundles" / file_name(catalogue.version(version).version)
    try:
        packed = read_file(path)
        if catalogue.check(packed):
            return packed.unpack()
    except BundleError:  # missing, or left by another catalogue: it is built anew
        pass
    bundle = build(version, catalogue, environ, progress)
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    unfinished.write_bytes(encode(bundle))
    unfinished.rename(path)  # atomic: two processes may build the same
    return bundle


if __name__ == "__main__":
    for each in sys.argv[1:] or load().versions:
        print(released_bundle(each).version)  # noqa: T201 - `make test-real` shows it
