"""Where commands find the schema of Envoy's messages."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from certwright.cli.errors import UsageError

if TYPE_CHECKING:
    from certwright.xds.schema.schema import MessageSchema

VARIABLE: Final = "CERTWRIGHT_XDS_SCHEMA"


def find_schema(
    file: Path | None, envoy: Path | None, environ: Mapping[str, str] = os.environ
) -> "MessageSchema":
    """Return the schema in a file, or that of an Envoy; `UsageError` says what is missing."""
    require_library()
    from certwright.xds.schema.descriptors import descriptors_in_binary
    from certwright.xds.schema.errors import SchemaUnusable
    from certwright.xds.schema.schema import MessageSchema

    named = environ.get(VARIABLE, "")
    if file is None and envoy is None and named:
        file = Path(named)
    try:
        if file is not None:
            return MessageSchema.read(file)
        return MessageSchema(descriptors_in_binary(_envoy(envoy, environ)))
    except SchemaUnusable as error:
        raise UsageError(str(error)) from None


def write_schema(target: Path, envoy: Path | None, package: Path | None) -> int:
    """Write the schema of an Envoy, or of the package of its messages, into a file."""
    require_library()
    from certwright.xds.schema.descriptors import descriptors_in_binary, descriptors_in_package
    from certwright.xds.schema.errors import SchemaUnusable

    if envoy is not None and package is not None:
        raise UsageError("--envoy and --package exclude each other")
    try:
        if package is not None:
            files = descriptors_in_package(package)
        else:
            files = descriptors_in_binary(_envoy(envoy, os.environ))
        target.write_bytes(files.SerializeToString(deterministic=True))
    except SchemaUnusable as error:
        raise UsageError(str(error)) from None
    except OSError as error:
        raise UsageError(f"{target} cannot be written: {error.strerror or error}") from None
    print(f"{target}: {len(files.file)} files of messages")
    return 0


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
