"""Wait for ManagedResources, until they are healthy or deleted, by a watch and without polling."""

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from datetime import timedelta
from typing import Final

from certwright.api.managedresources import ManagedResource
from certwright.apply import follow
from certwright.client import Client, Selection
from certwright.kube import Conflict, JsonObject, Key, NotFound
from certwright.kube.kinds import Secret
from certwright.managed.declaration import SECRET_PREFIX
from certwright.managed.deploy import OnProgress, Progress, silent
from certwright.managed.readiness import deletion_blockers, readiness

PATIENCE: Final = timedelta(minutes=5)


async def wait_until_healthy(
    client: Client,
    key: Key,
    *,
    rolled_out: bool = False,
    patience: timedelta = PATIENCE,
    on_progress: OnProgress = silent,
) -> JsonObject:
    """Return the ManagedResource once its present spec is applied and its objects are healthy.

    With *rolled_out* they must also have stopped progressing. *on_progress* is called with
    what is in the way, each time that changes.

    Raises:
        TimeoutError: with what is in the way, and the objects.
        NotFound: it does not exist, or is deleted meanwhile.
        ApiError: it cannot be read.
    """

    def blocked(state: JsonObject | None) -> str | None:
        if state is None:
            raise NotFound(f"ManagedResource {key} does not exist")
        verdict = readiness(state, rolled_out=rolled_out)
        return None if verdict.ready else str(verdict)

    healthy = await _wait(client, key, "healthy", blocked, patience, on_progress)
    assert healthy is not None
    return healthy


async def delete(
    client: Client,
    key: Key,
    *,
    patience: timedelta | None = PATIENCE,
    on_progress: OnProgress = silent,
) -> None:
    """Delete a ManagedResource and return when it is gone; then delete its Secrets.

    Its Secrets are those that this library made and no other ManagedResource of the namespace uses.
    Without *patience* it does not wait, and leaves them to the garbage collector. A ManagedResource
    that is gone already is fine. Raises `TimeoutError`, with what is in the way, and the objects.
    """
    resource = ManagedResource.resource
    try:
        current = await client.get(resource, key)
        await client.delete(resource, key, uid=current["metadata"]["uid"])
    except NotFound:
        return
    if patience is None:
        return

    def blocked(state: JsonObject | None) -> str | None:
        if state is None or state["metadata"]["uid"] != current["metadata"]["uid"]:
            return None
        return deletion_blockers(state)

    await _wait(client, key, "gone", blocked, patience, on_progress)
    on_progress(Progress("deleted", f"ManagedResource {key}"))
    await _delete_secrets(client, key.namespace, _own_secrets(current))


async def _wait(
    client: Client,
    key: Key,
    wanted: str,
    blocked: Callable[[JsonObject | None], str | None],
    patience: timedelta,
    on_progress: OnProgress,
) -> JsonObject | None:
    """Return a ManagedResource, or None if it does not exist, once *blocked* returns None."""
    reported = ""
    try:
        async with (
            asyncio.timeout(patience.total_seconds()),
            aclosing(follow(client, ManagedResource.resource, _only(key))) as states,
        ):
            async for found in states:
                state = found.get(key)
                if (obstacle := blocked(state)) is None:
                    return state
                if reported != (reported := obstacle):
                    on_progress(Progress("waiting", f"ManagedResource {key}", reported))
    except TimeoutError:
        late = f"is not {wanted} after {patience.total_seconds():g} s"
        why = reported or "it was not read in time"
        raise TimeoutError(f"ManagedResource {key} {late}: {why}") from None
    raise AssertionError("unreachable: following never ends")


def _only(key: Key) -> Selection:
    return Selection(key.namespace, fields=f"metadata.name={key.name}")


async def _delete_secrets(client: Client, namespace: str, names: set[str]) -> None:
    if not names:
        return
    others = (await client.list(ManagedResource.resource, namespace)).items
    for name in sorted(names - {used for other in others for used in _own_secrets(other)}):
        try:
            await client.delete(Secret, Key(namespace, name))
        except (NotFound, Conflict):
            continue


def _own_secrets(managed_resource: JsonObject) -> set[str]:
    references = (managed_resource.get("spec") or {}).get("secretRefs") or []
    names = {str(reference.get("name")) for reference in references}
    return {name for name in names if name.startswith(SECRET_PREFIX)}
