"""The least anybody can do for CertificateRequests: one status write each, and nothing else.

No watch, no cache, no comparison, and no cryptography: everything is read and signed before
the measurement. It stands for what the API server and an asyncio HTTP client allow. It
prepares, waits for a line on its standard input, and writes.
"""

import asyncio
import sys
from base64 import b64encode
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import aiohttp
import orjson
import uvloop

from bench import meter
from bench.issuingworkload import TIME, USAGES, read_authority
from bench.subjects.bare_resources import WORKERS, each, trust
from certwright import pki
from certwright.api.certmanager import CertificateRequest
from certwright.client import connect

APPLY = {"content-type": "application/apply-patch+yaml"}
TERMS = pki.RequestTerms(timedelta(hours=2160), usages=pki.parse_usages(USAGES))
READY = {
    "type": "Ready",
    "status": "True",
    "reason": "Issued",
    "message": "Succeeded signing the CertificateRequest",
    "lastTransitionTime": TIME,
}


async def bodies(task: meter.Task) -> AsyncIterator[tuple[str, bytes]]:
    """Yield the name of each request and the whole answer to it."""
    async with connect(task.kubeconfig) as client:
        authority = await read_authority(client, task.namespace)
        root = b64encode(pki.write_certificates(authority.certificate)).decode()
        for one in (await client.list(CertificateRequest, task.namespace)).items:
            csr = pki.read_request(one.spec.request)
            chain = authority.write_chain(authority.issue_request(csr, TERMS, datetime.now(UTC)))
            metadata = {
                "name": one.metadata.name,
                "namespace": task.namespace,
                "uid": one.metadata.uid,
                "resourceVersion": one.metadata.resource_version,
            }
            certificate = b64encode(chain).decode()
            body = {
                "apiVersion": "cert-manager.io/v1",
                "kind": "CertificateRequest",
                "metadata": metadata,
                "status": {"conditions": [READY], "certificate": certificate, "ca": root},
            }
            yield one.metadata.name, orjson.dumps(body)


async def main(task: meter.Task) -> None:
    answers = {name: body async for name, body in bodies(task)}
    server, context = trust(Path(task.kubeconfig))
    connector = aiohttp.TCPConnector(ssl=context, limit=WORKERS)
    requests = f"/apis/cert-manager.io/v1/namespaces/{task.namespace}/certificaterequests"
    async with aiohttp.ClientSession(server, connector=connector) as session:

        async def write(name: str) -> None:
            path = f"{requests}/{name}/status?fieldManager=bare&force=true"
            async with session.patch(path, data=answers[name], headers=APPLY) as answer:
                text = await answer.read()
                if answer.status >= 300:
                    raise RuntimeError(f"{path}: {answer.status} {text[:300]!r}")

        meter.start()
        await asyncio.to_thread(sys.stdin.readline)
        await each(list(answers), write)
        await asyncio.to_thread(sys.stdin.readline)


if __name__ == "__main__":
    uvloop.run(main(meter.task()))
