"""Stored versions that the next definitions do not know.

The API server refuses a definition that lacks a version in which objects may be stored. So each
object is written once as it is, which stores it in the current version, and then the others are
struck off the definition's status.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson

from certwright.client import Client, TransportError
from certwright.kube import ApiError, Conflict, JsonObject, Key, NotFound, Resource
from certwright.kube.kinds import CustomResourceDefinition
from certwright.operators.certmanager.engine.observed import DefinitionState

ATTEMPTS: Final = 5
MOST_REPORTED: Final = 20
"""How many objects that cannot be migrated are named."""


@dataclass(frozen=True, slots=True)
class Migration:
    """Objects of one definition that may be stored in a version which is about to go."""

    definition: str
    storage: str
    """The version they are stored in from now on."""
    obsolete: tuple[str, ...]
    """The versions that go."""


def migrations(
    definitions: Iterable[DefinitionState], wanted: Mapping[str, frozenset[str]]
) -> list[Migration]:
    """Return what has to be migrated before definitions with the *wanted* versions are applied."""
    return [
        Migration(state.name, state.storage, obsolete)
        for state in definitions
        if state.found and state.name in wanted
        if (obsolete := tuple(v for v in state.stored if v not in wanted[state.name]))
    ]


async def migrate(client: Client, migration: Migration, field_manager: str) -> Sequence[str]:
    """Store the objects anew, then strike off the old versions; return what could not be stored.

    Raises `ApiError` or `TransportError` if the definition itself cannot be read or written.
    """
    key = Key("", migration.definition)
    definition = await client.get(CustomResourceDefinition, key)
    resource = _resource(definition, migration.storage)
    refused: list[str] = []
    async for page in client.pages(resource):
        for item in page.items:
            obj: JsonObject = orjson.loads(memoryview(item))
            if problem := await _store(client, resource, obj, field_manager):
                refused.append(problem)
    if refused:
        return refused[:MOST_REPORTED]
    stored = (definition.get("status") or {}).get("storedVersions") or ()
    kept = [version for version in stored if version not in migration.obsolete]
    metadata = {"resourceVersion": definition["metadata"]["resourceVersion"]}
    change = {"metadata": metadata, "status": {"storedVersions": kept}}
    await client.patch(
        CustomResourceDefinition, key, change, subresource="status", field_manager=field_manager
    )
    return ()


async def _store(client: Client, resource: Resource, obj: JsonObject, field_manager: str) -> str:
    """Write an object as it is; return why that is not possible, empty if it was."""
    metadata: dict[str, Any] = obj["metadata"]
    key = Key(str(metadata.get("namespace") or ""), str(metadata["name"]))
    for attempt in range(ATTEMPTS):
        try:
            current = obj if not attempt else await client.get(resource, key)
            body = {**current, "apiVersion": resource.api_version, "kind": resource.kind}
            await client.update(body, field_manager=field_manager)
        except Conflict:
            continue
        except NotFound:
            return ""
        except (ApiError, TransportError) as error:
            return f"{resource.kind} {key}: {error}"
        return ""
    return f"{resource.kind} {key}: it changes all the time"


def _resource(definition: JsonObject, version: str) -> Resource:
    spec: dict[str, Any] = definition["spec"]
    names = spec["names"]
    return Resource(
        spec["group"], version, names["kind"], names["plural"], spec["scope"] == "Namespaced"
    )
