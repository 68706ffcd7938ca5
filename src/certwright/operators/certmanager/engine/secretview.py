"""Single Secrets, by name: no others are read, however many there are."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol

from certwright.client import Client, TransportError
from certwright.kube import ApiError, Key, NotFound
from certwright.kube.kinds import Secret
from certwright.operators.certmanager.engine.pullsecret import (
    ABSENT,
    Availability,
    FoundSecret,
    PullSecretDecision,
    decide,
    is_copied,
)
from certwright.operators.certmanager.request import PullSecret
from certwright.runtime import BadObject, Cache, Entry
from certwright.runtime.cache.cache import StoreHandle

READ_SECONDS: Final = 15.0
"""How long a Secret may take to be read."""


class PullSecrets(Protocol):
    """Reads the Secret with which images are pulled, and where it is copied from."""

    async def pull_secret(self, owner: Key, rule: PullSecret, namespace: str) -> PullSecretDecision:
        """Return what to do about the Secret with which the images of *owner* are pulled."""
        ...

    def forget(self, owner: Key) -> None:
        """Stop watching for a custom resource that is gone."""
        ...


class PullSecretReader:
    """Reads them once, from anywhere: for previews."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def pull_secret(
        self, _owner: Key, rule: PullSecret, namespace: str
    ) -> PullSecretDecision:
        """Return what to do about the Secret with which images are pulled."""
        found = await self._read(Key(namespace, rule.name))
        origin = ABSENT
        if is_copied(rule, namespace):
            origin = await self._read(Key(rule.source_namespace, rule.name))
        return decide(rule, namespace, found, origin)

    def forget(self, _owner: Key) -> None:
        """Do nothing: nothing is watched."""

    async def _read(self, key: Key) -> FoundSecret:
        try:
            found = await self._client.get(Secret, key)
            return FoundSecret(Availability.PRESENT, found)
        except NotFound:
            return ABSENT
        except (ApiError, TransportError) as error:
            return _unreadable(key, error)


@dataclass(slots=True)
class _Watched:
    handle: StoreHandle
    told: bool = False
    """Whether changes are told from now on."""


class SecretView:
    """Reads the Secrets that a custom resource needs, and wakes it when they change."""

    def __init__(self, cache: Cache, wake: Callable[[Key], None]) -> None:
        self._cache = cache
        self._wake = wake
        self._watched: dict[Key, dict[Key, _Watched]] = {}

    async def pull_secret(self, owner: Key, rule: PullSecret, namespace: str) -> PullSecretDecision:
        """Return what to do about the Secret with which the images of *owner* are pulled."""
        here = Key(namespace, rule.name)
        source = Key(rule.source_namespace, rule.name) if is_copied(rule, namespace) else None
        self._keep_only(owner, {here, source})
        found = await self._read(owner, here)
        origin = await self._read(owner, source) if source is not None else ABSENT
        return decide(rule, namespace, found, origin)

    def forget(self, owner: Key) -> None:
        """Stop watching for a custom resource that is gone."""
        self._keep_only(owner, set())

    def _keep_only(self, owner: Key, wanted: set[Key | None]) -> None:
        watched = self._watched.get(owner, {})
        for key in [key for key in watched if key not in wanted]:
            watched.pop(key).handle.release()
        if not watched:
            self._watched.pop(owner, None)

    async def _read(self, owner: Key, key: Key) -> FoundSecret:
        watched = self._watch(owner, key)
        try:
            async with asyncio.timeout(READ_SECONDS):
                await watched.handle.ready()
            entry = watched.handle.store.get(key)
            return ABSENT if entry is None else FoundSecret(Availability.PRESENT, entry.obj())
        except TimeoutError:
            problem = f"the Secret {key} could not be read within {READ_SECONDS:g} s"
            return FoundSecret(Availability.UNREADABLE, problem=problem)
        except (ApiError, TransportError, BadObject) as error:
            return _unreadable(key, error)
        finally:
            watched.told = True

    def _watch(self, owner: Key, key: Key) -> _Watched:
        mine = self._watched.setdefault(owner, {})
        if (known := mine.get(key)) is not None:
            return known
        selector = f"metadata.name={key.name}"
        handle = self._cache.store(Secret, namespace=key.namespace, fields=selector, required=False)
        watched = mine[key] = _Watched(handle)

        def tell(_old: Entry | None, _new: Entry | None) -> None:
            if watched.told:
                self._wake(owner)

        handle.listen(tell, own_writes=False)
        return watched


def _unreadable(key: Key, error: Exception) -> FoundSecret:
    return FoundSecret(Availability.UNREADABLE, problem=f"the Secret {key}: {error}")
