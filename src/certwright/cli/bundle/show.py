"""Bundles looked at: which there are, what is in one, what differs between two."""

import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from certwright.apply.diff import render
from certwright.bundles.bundle import Bundle
from certwright.bundles.catalogue import Catalogue, load
from certwright.bundles.differences import BundleDifference, compare_bundles
from certwright.bundles.images import images_of
from certwright.bundles.sources import BundleSet, bundle_set, read_folder
from certwright.bundles.versions import Release
from certwright.cli.bundle.inputs import bundles, explained
from certwright.cli.options import Output
from certwright.cli.terminal.output import document, documents, fitted, table, terminal_width
from certwright.kube import JsonObject


def list_bundles(folder: Path, output: Output) -> int:
    """Print the versions of the catalogue and of a folder; 2 if a file cannot be used."""
    catalogue = load()
    inside = bundle_set(read_folder(folder) if folder.is_dir() else [], catalogue)
    rows = version_rows(catalogue, inside)
    if output is Output.TABLE:
        heads = ("VERSION", "KUBERNETES", "DIGEST", "FILE")
        cells = [
            (row["version"], row["kubernetes"], row["digest"][:12], row["file"]) for row in rows
        ]
        print(fitted(table(heads, cells), terminal_width()))
        if not inside.packed:
            print(f"no bundles in {folder}; make one: certwright bundle build", file=sys.stderr)
    else:
        print(document({"default": catalogue.default, "versions": rows}, output))
    for error in inside.errors:
        print(f"error: {error}", file=sys.stderr)
    return 2 if inside.errors else 0


def version_rows(catalogue: Catalogue, inside: BundleSet) -> list[JsonObject]:
    """Return what is known about each version, newest first."""
    rows = []
    for version in sorted({*catalogue.versions, *inside.packed}, key=Release.parse, reverse=True):
        window = catalogue.window(version)
        packed = inside.packed.get(version)
        known = version in catalogue.versions
        rows.append(
            {
                "version": version,
                "kubernetes": f"{window.oldest} to {window.newest}" if window else "",
                "digest": catalogue.version(version).digest
                if known
                else packed.digest
                if packed
                else "",
                "released": known,
                "file": packed.source if packed else "",
            }
        )
    return rows


def show_bundle(name: str, folder: Path, output: Output) -> int:
    """Print what is in a bundle; with YAML or JSON, all of its objects."""
    with explained():
        (bundle,) = bundles([name], folder)
    if output is Output.TABLE:
        print(description(bundle, load()))
    else:
        print(documents(bundle.objects, output))
    return 0


def description(bundle: Bundle, catalogue: Catalogue) -> str:
    """Return a bundle in words: version, digest, Kubernetes, images, objects by kind, notes."""
    window = catalogue.window(bundle.version)
    lines = [
        f"Version:      {bundle.version}",
        f"Digest:       {bundle.digest}",
        f"As released:  {'yes' if bundle.version in catalogue.versions else 'not known'}",
        f"Kubernetes:   {f'{window.oldest} to {window.newest}' if window else 'not known'}",
        "Images:",
        *(f"  {image}" for image in images_of(bundle)),
        "Objects:",
        *(
            f"  {count:3} {kind}"
            for kind, count in Counter(o["kind"] for o in bundle.objects).items()
        ),
    ]
    if bundle.version in catalogue.versions and (notes := catalogue.version(bundle.version).notes):
        lines += ["Before upgrading to it:", *(f"  - {note}" for note in notes)]
    return "\n".join(lines)


def diff_bundles(old: str, new: str, folder: Path, output: Output) -> int:
    """Print what differs between two bundles; 1 if something does."""
    with explained():
        before, after = bundles([old, new], folder)
    difference = compare_bundles(before, after)
    notes = load().notes(before.version, after.version)
    if output is Output.TABLE:
        print(difference_text(difference), end="")
        print(
            f"{len(difference.added)} added, {len(difference.removed)} removed,"
            f" {len(difference.changed)} changed, {difference.unchanged} unchanged",
            file=sys.stderr,
        )
        for minor, note in notes:
            print(f"note on {minor}: {note}", file=sys.stderr)
    else:
        print(document(difference_document(difference, notes), output))
    return 1 if difference else 0


def difference_text(difference: BundleDifference) -> str:
    """Return the differences for people: objects, and fields below them."""
    lines = [f"added    {ref}" for ref in difference.added]
    lines += [f"removed  {ref}" for ref in difference.removed]
    for ref, diff in difference.changed:
        lines.append(f"changed  {ref}")
        lines += [f"  {line}" for line in render(diff).splitlines()]
    return "".join(f"{line}\n" for line in lines)


def difference_document(
    difference: BundleDifference, notes: Sequence[tuple[str, str]]
) -> JsonObject:
    """Return the same for programs."""
    return {
        "added": [ref.id for ref in difference.added],
        "removed": [ref.id for ref in difference.removed],
        "changed": [
            {"object": ref.id, "fields": [change.path for change in diff.changes]}
            for ref, diff in difference.changed
        ],
        "unchanged": difference.unchanged,
        "notes": [{"version": minor, "note": note} for minor, note in notes],
    }


def print_images(names: Sequence[str], folder: Path) -> int:
    """Print the images of bundles, one per line; all bundles of the folder if none is named."""
    with explained():
        if not names:
            names = bundle_set(read_folder(folder), load()).versions
        found = {image for bundle in bundles(names, folder) for image in images_of(bundle)}
    for image in sorted(found):
        print(image)
    return 0
