"""Bundles made: of the published modules, of manifests and of charts."""

import os
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from certwright.bundles.build import build
from certwright.bundles.bundle import Bundle, decode, encode
from certwright.bundles.catalogue import load
from certwright.bundles.errors import BundleError, ToolMissing
from certwright.bundles.manifest import import_bundle
from certwright.bundles.sources import file_name, read_file
from certwright.cli.bundle.inputs import explained
from certwright.cli.errors import UsageError, system_message
from certwright.cli.terminal.progress import ProgressLine


def build_bundles(names: Sequence[str], folder: Path) -> int:
    """Build versions into a folder, all of the catalogue if none is named; 2 if one failed.

    What is there already and as released is left as it is.
    """
    catalogue = load()
    with explained():
        versions = [catalogue.find(name) for name in names] or list(catalogue.versions)
    failed = 0
    for number, version in enumerate(dict.fromkeys(versions), 1):
        path = folder / file_name(version)
        if _is_there(path, catalogue.version(version).digest):
            print(f"{path}   unchanged")
            continue
        with ProgressLine(0) as progress:
            place = f"[{number}/{len(versions)}] " if len(versions) > 1 else ""
            try:
                bundle = build(version, catalogue, os.environ, partial(_show, progress, place))
                line = _write(bundle, path)
            except ToolMissing as error:
                raise UsageError(str(error)) from error  # the others would miss it, too
            except BundleError as error:
                failed += 1
                progress.end()
                print(f"error: {error}", file=sys.stderr)
                continue
        print(line)
    return 2 if failed else 0


def import_one(source: Path, version: str, folder: Path) -> int:
    """Make a bundle of a manifest or of a chart, and say whether it is a known release."""
    with ProgressLine(0) as progress, explained():
        if not source.exists():
            raise UsageError(f"{source}: no such file or folder")
        progress.show(f"reading {source}")
        bundle = import_bundle(source, version)
        known = load().check(bundle, str(source))
        line = _write(bundle, folder / file_name(bundle.version))
    print(line)
    told = "as it was released" if known else "not in the catalogue: nothing to compare it with"
    print(f"cert-manager {bundle.version}: {told}", file=sys.stderr)
    return 0


def _show(progress: ProgressLine, place: str, text: str) -> None:
    progress.show(f"{place}{text}")


def _is_there(path: Path, digest: str) -> bool:
    try:
        return decode(read_file(path).data).digest == digest
    except BundleError:
        return False


def _write(bundle: Bundle, path: Path) -> str:
    """Write a file at once, so that there is never half of one; return a line about it."""
    data = encode(bundle)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished.write_bytes(data)
        unfinished.rename(path)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {system_message(error)}") from error
    return f"{path}   {len(bundle.objects)} objects, {len(data) // 1024} KB"
