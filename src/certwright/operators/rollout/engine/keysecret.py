"""The Secret that holds the key of all digests: made once, and made again if it is deleted.

Those who hold the key could try contents against the digests on workloads, so it is in a Secret of
its own, in the namespace of the operator. If it is lost while the operator is down, a new key is
made, and the contents of all workloads are recorded anew with it; none is restarted.
"""

from base64 import b64decode, b64encode
from collections.abc import Callable
from typing import Final

from certwright.client import Client
from certwright.kube import AlreadyExists, JsonObject, Key, NotFound
from certwright.kube.kinds import Secret
from certwright.operators.rollout.decision.digest import KEY_BYTES, DigestKey
from certwright.operators.rollout.policy import DOMAIN

MEMBER: Final = "key"
_TRIES: Final = 3


class KeySecret:
    """Reads the key, or makes it. *random* returns so many random bytes."""

    def __init__(self, client: Client, home: Key, random: Callable[[int], bytes]) -> None:
        self.home = home
        self._client = client
        self._random = random
        self._secret = b""

    async def load(self) -> DigestKey:
        """Return the key in the cluster; make one if there is none, or none that can be used."""
        for _ in range(_TRIES):
            try:
                found = await self._client.get(Secret, self.home)
            except NotFound:
                self._secret = self._secret or self._random(KEY_BYTES)
                if await self._create():
                    break
                continue
            if (secret := _secret_of(found)) is not None:
                self._secret = secret
                break
            # It holds no key: as good as lost. Deleted by its uid, and made anew.
            await self._client.delete(Secret, self.home, uid=found["metadata"]["uid"])
        return DigestKey(self._secret)

    async def restore(self) -> None:
        """Create the Secret again with the key in use, after it was deleted."""
        await self._create()

    async def _create(self) -> bool:
        """Create the Secret; return whether it was missing."""
        secret: JsonObject = {
            "apiVersion": Secret.api_version,
            "kind": Secret.kind,
            "metadata": {
                "namespace": self.home.namespace,
                "name": self.home.name,
                "annotations": {
                    f"{DOMAIN}/purpose": "key of the digests on workloads; keep it, or contents"
                    " that change while it is lost restart no workload"
                },
            },
            "type": "Opaque",
            "data": {MEMBER: b64encode(self._secret).decode()},
        }
        try:
            await self._client.create(secret)
        except AlreadyExists:
            return False
        return True


def read_key(obj: JsonObject) -> DigestKey | None:
    """Return the key that a Secret holds; None if it holds none."""
    secret = _secret_of(obj)
    return None if secret is None else DigestKey(secret)


def _secret_of(obj: JsonObject) -> bytes | None:
    try:
        secret = b64decode((obj.get("data") or {}).get(MEMBER) or "", validate=True)
    except (ValueError, TypeError, AttributeError):
        return None
    return secret if len(secret) >= KEY_BYTES else None
