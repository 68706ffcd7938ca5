"""Probes: what a run of answers means (pure), and how a program is asked.

A probe's verdict changes after as many equal answers in a row as its thresholds say.
"""

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Final

from certwright.kube import JsonObject
from certwright.testkit.node.process.grpchealth import SERVING, HealthCheck, HealthCheckFailed

_HTTP_OK: Final = range(200, 400)
_LONGEST_LINE: Final = 4096
_REFUSED: Final = "connect: connection refused"
_TIMED_OUT: Final = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"


@dataclass(frozen=True, slots=True)
class ProbeProgress:
    """How a probe stands: its verdict, and the run of equal answers that may change it."""

    success_threshold: int = 1
    failure_threshold: int = 3
    verdict: bool | None = None
    answer: bool | None = None
    run: int = 0

    @classmethod
    def of(cls, probe: JsonObject) -> "ProbeProgress":
        """Return a probe that has not been asked yet."""
        return cls(probe.get("successThreshold") or 1, probe.get("failureThreshold") or 3)

    def after(self, answer: bool) -> "ProbeProgress":  # noqa: FBT001 - the answer itself
        """Return how it stands after one more answer."""
        run = self.run + 1 if answer == self.answer else 1
        needed = self.success_threshold if answer else self.failure_threshold
        verdict = answer if run >= needed else self.verdict
        return replace(self, verdict=verdict, answer=answer, run=run)


@dataclass(frozen=True, slots=True)
class ProbeAnswer:
    """What a probe found out, and what is said of it if it failed."""

    healthy: bool
    output: str = ""


@dataclass(frozen=True, slots=True)
class ProbeTimes:
    """When a probe asks, in seconds."""

    delay: float
    period: float
    timeout: float

    @classmethod
    def of(cls, probe: JsonObject, scale: float = 1.0) -> "ProbeTimes":
        """Return the times of a probe; delay and period are multiplied by *scale*.

        What a shorter period saves is given to answers that take long: a program is held to be
        unhealthy by its silence no sooner than without a scale, as on a machine that is busy.
        """
        period = float(probe.get("periodSeconds") or 10)
        timeout = float(probe.get("timeoutSeconds") or 1)
        delay = (probe.get("initialDelaySeconds") or 0) * scale
        return cls(delay, period * scale, max(timeout, period - period * scale))


RunCommand = Callable[[list[str], float], Awaitable[tuple[int, str]]]
"""Runs a command beside a container, with a limit in seconds: its exit code and output."""


async def ask(
    probe: JsonObject,
    port_of: Callable[[int | str], int],
    run: RunCommand,
    seconds: float,
    pod_ip: str = "",
) -> ProbeAnswer:
    """Ask a running program once, as its probe or hook says."""
    try:
        async with asyncio.timeout(seconds):
            if command := probe.get("exec"):
                code, output = await run(list(command.get("command") or ()), seconds)
                return ProbeAnswer(code == 0, output)
            if http := probe.get("httpGet"):
                return await _http(http, port_of(http["port"]), pod_ip)
            if tcp := probe.get("tcpSocket"):
                return await _tcp(port_of(tcp["port"]), tcp["port"], pod_ip)
            if grpc := probe.get("grpc"):
                return await _grpc(grpc, port_of(grpc["port"]), pod_ip, seconds)
    except TimeoutError:
        return ProbeAnswer(False, _timed_out(probe, seconds, pod_ip))
    return ProbeAnswer(False, "missing probe handler")


def _timed_out(probe: JsonObject, seconds: float, pod_ip: str) -> str:
    if probe.get("exec"):
        return f"command timed out after {seconds:g}s"
    if http := probe.get("httpGet"):
        return f'Get "{_url(http, pod_ip)}": {_TIMED_OUT}'
    if probe.get("grpc"):
        return f"timeout: health rpc did not complete within {seconds:g}s"
    return f"dial tcp {pod_ip}:{probe['tcpSocket']['port']}: i/o timeout"


def _url(http: JsonObject, pod_ip: str) -> str:
    scheme = (http.get("scheme") or "HTTP").lower()
    host = http.get("host") or pod_ip
    return f"{scheme}://{host}:{http['port']}{http.get('path') or '/'}"


async def _tcp(port: int, shown: int | str, pod_ip: str) -> ProbeAnswer:
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return ProbeAnswer(False, f"dial tcp {pod_ip}:{shown}: {_REFUSED}")
    writer.close()
    return ProbeAnswer(True)


async def _http(http: JsonObject, port: int, pod_ip: str) -> ProbeAnswer:
    """Ask by HTTP/1.1; certificates are not checked, as kubelet does not."""
    context: ssl.SSLContext | None = None
    if (http.get("scheme") or "HTTP") == "HTTPS":
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    shown = _url(http, pod_ip)
    try:
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", port, ssl=context, limit=_LONGEST_LINE
        )
    except OSError:
        return ProbeAnswer(False, f'Get "{shown}": dial tcp {pod_ip}:{http["port"]}: {_REFUSED}')
    try:
        writer.write(_request(http, pod_ip))
        line = await reader.readline()
    except (OSError, ValueError):
        line = b""
    finally:
        writer.close()
    words = line.split()
    if len(words) < 2 or not words[1].isdigit():
        return ProbeAnswer(False, f'Get "{shown}": EOF')
    status = int(words[1])
    if status in _HTTP_OK:
        return ProbeAnswer(True)
    return ProbeAnswer(False, f"HTTP probe failed with statuscode: {status}")


async def _grpc(grpc: JsonObject, port: int, pod_ip: str, seconds: float) -> ProbeAnswer:
    """Ask by the health protocol of gRPC, without TLS, as kubelet does."""
    address = f"{pod_ip}:{grpc['port']}"
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:  # kubelet tries until its time is over, and says so
        why = f"within {seconds:g}s: context deadline exceeded"
        return ProbeAnswer(False, f'timeout: failed to connect service "{address}" {why}')
    check = HealthCheck(address, grpc.get("service") or "")
    status = None
    try:
        while status is None:
            writer.write(check.output)
            data = await reader.read(_LONGEST_LINE)
            if not data:
                raise HealthCheckFailed("the connection was closed")
            status = check.receive(data)
    except (OSError, HealthCheckFailed) as error:
        return ProbeAnswer(False, f"error: health rpc probe failed: {error}")
    finally:
        writer.close()
    if status == SERVING:
        return ProbeAnswer(True)
    return ProbeAnswer(False, f'service unhealthy (responded with "{status}")')


def _request(http: JsonObject, pod_ip: str) -> bytes:
    headers = {
        "Host": f"{http.get('host') or pod_ip}:{http['port']}",
        "User-Agent": "kube-probe/1.36",
    }
    for header in http.get("httpHeaders") or ():
        headers[header["name"]] = header.get("value", "")
    headers["Connection"] = "close"
    lines = [f"GET {http.get('path') or '/'} HTTP/1.1", *(f"{k}: {v}" for k, v in headers.items())]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()
