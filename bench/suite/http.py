"""What a small request costs beyond the server's own work, and what a connection holds."""

import tempfile
from datetime import UTC, datetime
from pathlib import Path

from bench.httpworkload import CONNECTIONS, IN_FLIGHT
from bench.processes import Program, Run, measure, median
from bench.result import Figures, Result, at_most
from certwright.apiserver.http.certs import TestAuthority
from certwright.apiserver.http.kubeconfig import kubeconfig_with_certificate

REQUESTS = 10_000
SUBJECTS = {"certwright": "certwright_http", "aiohttp": "aiohttp_http"}


def run(runs: int) -> Result:
    measured: dict[str, list[Run]] = {name: [] for name in SUBJECTS}
    with tempfile.TemporaryDirectory() as directory:
        serving, kubeconfig = Path(directory, "serving.pem"), Path(directory, "kubeconfig")
        authority = TestAuthority("bench", datetime.now(UTC))
        pair = authority.serving("127.0.0.1")
        serving.write_bytes(pair.certificate + pair.key)
        with Program("patchserver", str(serving)) as server:
            url = f"https://127.0.0.1:{server.line()['port']}"
            user = authority.client("bench")
            kubeconfig.write_text(kubeconfig_with_certificate(url, authority.certificate, user))
            # Turn by turn, so that a busy neighbour hits both.
            for _ in range(runs):
                for name, subject in SUBJECTS.items():
                    one = measure(subject, kubeconfig=str(kubeconfig), objects=REQUESTS)
                    measured[name].append(one)
    shown = {name: figures(of) for name, of in measured.items()}
    cpu, memory = (
        float(shown["certwright"][figure]) / float(shown["aiohttp"][figure])
        for figure in ("µs per request", "KiB per connection")
    )
    return Result(
        "http",
        f"{REQUESTS:,} writes of 700 bytes with answers of 1.5 kB over TLS, {IN_FLIGHT} at a time, "
        f"after {CONNECTIONS} connections were opened at once; both on uvloop. Processor time and "
        "memory of the client's process; the server is another one, on the same machine.",
        shown,
        [
            at_most("a small request: CPU", cpu, 0.5, "times aiohttp"),
            at_most("a connection: memory", memory, 1.0, "times aiohttp"),
        ],
        runs,
    )


def figures(runs: list[Run]) -> Figures:
    """Return what is shown of one client."""
    return {
        "µs per request": median(runs, lambda r: r.cpu("connected", "done")) / REQUESTS * 1e6,
        "ms per new connection": median(runs, lambda r: r.cpu("start", "connected"))
        / CONNECTIONS
        * 1e3,
        "KiB per connection": median(runs, Run.grown) / CONNECTIONS / 1024,
    }
