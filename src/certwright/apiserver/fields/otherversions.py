"""Objects in the versions that their managers wrote in: there, what they own is compared."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from certwright.apiserver.fields.typed import TypeMismatch, check
from certwright.apiserver.schema.schema import Schema
from certwright.kube.objects import JsonObject


class Unconvertible(TypeMismatch):
    """An object cannot be had in the version that one of its managers wrote in."""


@dataclass(frozen=True, slots=True)
class OtherVersions:
    """The versions of a kind, and how objects get from one to another."""

    schemas: Mapping[str, Schema]
    """By apiVersion."""
    convert: Callable[[JsonObject, str], JsonObject]
    """Return an object in the version named, not pruned; `Unconvertible` if that fails."""

    def schema(self, api_version: str) -> Schema:
        """Return the schema of a version; `Unconvertible` if there is none any more."""
        found = self.schemas.get(api_version)
        if found is None:
            why = f"request to convert CR to an invalid group/version: {api_version}"
            raise Unconvertible(why)
        return found

    def typed(self, obj: JsonObject, api_version: str) -> JsonObject:
        """Return an object in a version; `Unconvertible` if it does not fit that one's schema."""
        if obj.get("apiVersion") == api_version:
            return obj
        schema = self.schema(api_version)
        converted = self.convert(obj, api_version)
        try:
            check(converted, schema)
        except TypeMismatch as error:
            raise Unconvertible(str(error)) from None
        return converted
