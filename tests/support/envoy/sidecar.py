"""A real Envoy that starts as a sidecar does: from the generated files, over mTLS."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from tests.support.xds.client import Served

from certwright.kube import JsonObject
from certwright.operators.discoveryservice.injection.bootstrap import Bootstrap, bootstrap_files
from certwright.testkit.envoy import RunningEnvoy, envoy
from certwright.tls.certificates import TlsFiles


def write_sidecar(folder: Path, port: int, files: TlsFiles) -> JsonObject:
    """Write what is mounted into a sidecar; return its bootstrap."""
    certificates = folder / "tls"
    certificates.mkdir()
    (certificates / "tls.crt").write_bytes(files.certificate)
    (certificates / "tls.key").write_bytes(files.key)
    (certificates / "ca.crt").write_bytes(files.authority)
    made = Bootstrap(
        "localhost", port, "127.0.0.1", 0, directory=str(folder), certificates=str(certificates)
    )
    written = bootstrap_files(made)
    for name, text in written.items():
        (folder / name).write_text(text, "utf-8")
    config: JsonObject = json.loads(written["config.json"])
    [cluster] = config["static_resources"]["clusters"]
    cluster["dns_lookup_family"] = "V4_ONLY"  # the server of the test listens there only
    return config


@asynccontextmanager
async def sidecar(
    served: Served, folder: Path, namespace: str, node: str = "gateway", name: str = "sidecar"
) -> AsyncIterator[RunningEnvoy]:
    """Run an Envoy of a namespace that asks a server for its configuration."""
    place = folder / name
    place.mkdir()
    config = write_sidecar(place, served.server.port, served.ca.client(namespace))
    arguments = ("--service-node", node, "--service-cluster", node)
    async with envoy(config, place, name=name, arguments=arguments) as running:
        yield running
