"""Small writes through aiohttp's client, set up as a Kubernetes client needs it."""

from pathlib import Path
from urllib.parse import urlencode

import aiohttp
import uvloop

from bench import meter
from bench.httpworkload import BODY, CONNECTIONS, HEADERS, QUERY, path, write_all
from bench.subjects.bare_resources import trust


async def main(task: meter.Task) -> None:
    server, context = trust(Path(task.kubeconfig))
    patience = aiohttp.ClientTimeout(total=60, sock_connect=10)
    query = urlencode(QUERY)
    async with aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=CONNECTIONS, ssl=context),
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,
        timeout=patience,
    ) as session:

        async def write(number: int) -> None:
            url = f"{server}{path(number)}?{query}"
            async with session.patch(
                url, data=BODY, headers=HEADERS, allow_redirects=False
            ) as answer:
                assert answer.status == 200
                await answer.read()

        await write_all(write, task.objects)


if __name__ == "__main__":
    uvloop.run(main(meter.task()))
