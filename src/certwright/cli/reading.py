"""Manifests that were named on the command line."""

import sys
from collections.abc import Sequence

from certwright.apply import Manifest, read_files
from certwright.cli.errors import UsageError


def read_manifests(paths: Sequence[str], *, recursive: bool) -> list[Manifest]:
    """Read files, directories and standard input.

    Raises:
        UsageError: there is nothing in them.
        ExceptionGroup: of a `UsageError` for each document that cannot be read.
    """
    read = read_files(paths, stdin=sys.stdin.buffer, recursive=recursive)
    if read.errors:
        wrong = [UsageError(str(error)) for error in read.errors]
        raise ExceptionGroup("manifests that cannot be read", wrong)
    if not read.objects:
        raise UsageError(f"{', '.join(paths)}: no manifests in there")
    return read.objects
