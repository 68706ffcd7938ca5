"""Small writes through certwright's transport."""

import uvloop

from bench import meter
from bench.httpworkload import BODY, CONNECTIONS, HEADERS, QUERY, path, write_all
from certwright.client import HttpTransport, Limits, Request, load_config


async def main(task: meter.Task) -> None:
    transport = HttpTransport(load_config(task.kubeconfig), limits=Limits(connections=CONNECTIONS))

    async def write(number: int) -> None:
        request = Request("patch", "PATCH", path(number), QUERY, HEADERS, BODY)
        answer = await transport.send(request)
        assert answer.status == 200

    await write_all(write, task.objects)
    await transport.close()


if __name__ == "__main__":
    uvloop.run(main(meter.task()))
