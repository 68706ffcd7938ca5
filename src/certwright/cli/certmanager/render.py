"""``certwright cert-manager render``: the objects that a custom resource asks for."""

import sys
from pathlib import Path

from certwright.cli.certmanager.inputs import read_file, source_errors, source_of
from certwright.cli.options import Output
from certwright.cli.terminal.output import documents


def render_file(path: str, folder: Path, output: Output) -> int:
    """Print the manifests of a custom resource; 2 if a part of it cannot be followed."""
    asked, source = read_file(path), source_of(folder)
    request = asked.request(source)
    with source_errors():
        wanted = source.wanted(request)
    print(documents([one.obj for one in wanted.objects], output))
    for problem in wanted.problems:
        print(f"error: {problem.reason}: {problem.message}", file=sys.stderr)
    return 2 if wanted.problems else 0
