"""Where commands find the schema of Envoy's messages."""

import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from certwright.cli.errors import UsageError

if TYPE_CHECKING:
    from certwright.xds.schema.schema import MessageSchema

VARIABLE: Final = "CERTWRIGHT_XDS_SCHEMA"
_VERSION: Final = re.compile(rb"/(\d+\.\d+\.\d+)[^/]*/")
"""In the middle of what Envoy prints: commit, version, state of the tree, kind of build."""
_SECONDS: Final = 10.0


def find_schema(
    file: Path | None, envoy: Path | None, environ: Mapping[str, str] = os.environ
) -> "MessageSchema":
    """Return the schema in a file, or that of an Envoy; `UsageError` says what is missing."""
    require_library()
    from certwright.xds.schema.descriptors import descriptors_in_binary, with_envoy_version
    from certwright.xds.schema.errors import SchemaUnusable
    from certwright.xds.schema.schema import MessageSchema

    named = environ.get(VARIABLE, "")
    if file is None and envoy is None and named:
        file = Path(named)
    try:
        if file is not None:
            return MessageSchema.read(file)
        binary = _envoy(envoy, environ)
        files = descriptors_in_binary(binary)
        return MessageSchema(with_envoy_version(files, version_of(binary)))
    except SchemaUnusable as error:
        raise UsageError(str(error)) from None


def write_schema(target: Path, envoy: Path | None, package: Path | None) -> int:
    """Write the schema of an Envoy, or of the package of its messages, into a file."""
    require_library()
    from certwright.xds.schema.descriptors import (
        descriptors_in_binary,
        descriptors_in_package,
        with_envoy_version,
    )
    from certwright.xds.schema.errors import SchemaUnusable

    if envoy is not None and package is not None:
        raise UsageError("--envoy and --package exclude each other")
    try:
        if package is not None:
            files = descriptors_in_package(package)
        else:
            binary = _envoy(envoy, os.environ)
            files = with_envoy_version(descriptors_in_binary(binary), version_of(binary))
        target.write_bytes(files.SerializeToString(deterministic=True))
    except SchemaUnusable as error:
        raise UsageError(str(error)) from None
    except OSError as error:
        raise UsageError(f"{target} cannot be written: {error.strerror or error}") from None
    print(f"{target}: {len(files.file)} files of messages")
    return 0


def version_of(envoy: Path) -> str:
    """Return the version that an Envoy says it is; empty if it does not run on this machine."""
    try:
        said = subprocess.run(  # noqa: S603 - the Envoy that was named
            [envoy.absolute(), "--version"], capture_output=True, timeout=_SECONDS, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    found = _VERSION.search(said.stdout[:10_000])
    return found[1].decode() if found else ""


def require_library() -> None:
    """Raise `UsageError` if Protocol Buffers are not installed."""
    try:
        import certwright.xds.schema.schema  # noqa: F401 - only whether it can be
    except ModuleNotFoundError:
        raise UsageError(
            "this command needs another package: pip install 'certwright[xds]'"
        ) from None


def _envoy(path: Path | None, environ: Mapping[str, str]) -> Path:
    from certwright.testkit.envoy.binary import EnvoyMissing, find_envoy

    if path is not None:
        return path
    try:
        return find_envoy(environ)
    except EnvoyMissing as error:
        raise UsageError(f"{error}; or name a schema with --schema, or {VARIABLE}") from None
