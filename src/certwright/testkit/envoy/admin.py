"""The administration interface of a running Envoy."""

import asyncio
import http.client
import json
from typing import Final

from certwright.kube import JsonObject

_SECONDS: Final = 30.0


class EnvoyAdmin:
    """Asks one Envoy about itself."""

    def __init__(self, host: str, port: int) -> None:
        self.host = host
        self.port = port

    async def text(self, path: str, method: str = "GET") -> str:
        """Return what Envoy answers; `OSError` if it does not, or refuses."""
        return await asyncio.to_thread(self._request, method, path)

    async def json(self, path: str) -> JsonObject:
        """Return a JSON answer."""
        answer: JsonObject = json.loads(await self.text(path))
        return answer

    async def stats(self, pattern: str = "") -> dict[str, int]:
        """Return counters and gauges whose names match a regular expression."""
        query = f"/stats?format=json&filter={pattern}" if pattern else "/stats?format=json"
        rows = (await self.json(query))["stats"]
        return {row["name"]: row["value"] for row in rows if isinstance(row.get("value"), int)}

    async def is_ready(self) -> bool:
        """Return whether Envoy has taken its first configuration and serves."""
        try:
            return (await self.text("/ready")).strip() == "LIVE"
        except OSError:
            return False

    def _request(self, method: str, path: str) -> str:
        connection = http.client.HTTPConnection(self.host, self.port, timeout=_SECONDS)
        try:
            connection.request(method, path)
            response = connection.getresponse()
            body = response.read().decode("utf-8", "replace")
        except http.client.HTTPException as error:
            raise OSError(f"{method} {path}: {error!r}") from error
        finally:
            connection.close()
        if response.status != 200:
            raise OSError(f"{method} {path}: {response.status}: {body[:200]}")
        return body
