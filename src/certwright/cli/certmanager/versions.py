"""``certwright cert-manager versions``: what can be installed."""

from pathlib import Path

from certwright.bundles.catalogue import load
from certwright.bundles.sources import bundle_set, read_folder
from certwright.cli.bundle.show import version_rows
from certwright.cli.options import Output
from certwright.cli.terminal.output import document, fitted, table, terminal_width


def show_versions(folder: Path, output: Output) -> int:
    """Print the versions, newest first, and which of them can be installed from a folder."""
    catalogue = load()
    inside = bundle_set(read_folder(folder) if folder.is_dir() else [], catalogue)
    rows = version_rows(catalogue, inside)
    if output is not Output.TABLE:
        print(document({"default": catalogue.default, "versions": rows}, output))
        return 0
    heads = ("VERSION", "KUBERNETES", "BUNDLE", "DEFAULT")
    cells = [
        (
            row["version"],
            row["kubernetes"],
            row["file"] or f"certwright bundle build {row['version']}",
            "yes" if row["version"] == catalogue.default else "",
        )
        for row in rows
    ]
    print(fitted(table(heads, cells), terminal_width()))
    return 0
