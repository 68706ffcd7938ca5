"""Which program stands for an image: a table, since nothing is pulled from anywhere."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final


@dataclass(frozen=True, slots=True)
class Program:
    """A program of this machine that runs where an image is asked for.

    The container's arguments follow *entrypoint*, whose ``$(NAME)`` stand for variables of the
    process, such as ``$(KUBECONFIG)``. Its command stands for the entrypoint only if
    that is not *fixed*: paths inside an image mean nothing here. Programs learn the ports they
    are to listen on from the variable ``CERTWRIGHT_PORTS`` (``8080=41234,…``) and from their
    arguments, in which declared ports are translated; so are paths below mounts.
    """

    entrypoint: tuple[str, ...] = ()
    fixed: bool = True
    environment: Mapping[str, str] = field(default_factory=dict)


STUB: Final = Program((sys.executable, "-I", "-S", str(Path(__file__).with_name("stub.py"))))
"""Becomes ready on every port of its container and does nothing else."""
LOCAL: Final = Program(fixed=False)
"""Runs the container's own command with the programs of this machine, such as ``sh``."""
CERTWRIGHT: Final = Program((sys.executable, "-c", "from certwright.cli.main import main; main()"))
"""This package's own command line."""

DEFAULT_IMAGES: Final[Mapping[str, Program]] = {
    "registry.k8s.io/pause:*": STUB,
    "stub:*": STUB,
    "busybox:*": LOCAL,
    "certwright:*": CERTWRIGHT,
}
"""What a node has without being told."""


def find_program(images: Mapping[str, Program], image: str) -> Program | None:
    """Return the program for an image; names in the table may end in ``*``. None if unknown."""
    name = image if ":" in image.rpartition("/")[2] or "@" in image else f"{image}:latest"
    if name in images:
        return images[name]
    patterns = [pattern for pattern in images if fnmatchcase(name, pattern)]
    return images[max(patterns, key=len)] if patterns else None


def pull_error(image: str) -> str:
    """Return what is said of an image that is not in the table."""
    return (
        f'failed to pull and unpack image "{image}": failed to resolve image: not found; '
        "this node runs only the images of its table"
    )
