"""CustomResourceDefinitions from typed kinds.

A kind is declared once, as a class, and everything else follows::

    class GreetingSpec(Struct):
        '''What to say, and how often.'''
        text: Annotated[str, Meta(min_length=1, description="The words.")] = "hello"
        count: Annotated[int, Meta(ge=0, le=100)] = 1

    class GreetingStatus(Struct):
        ready: bool = False

    @custom_resource("demo.certwright.dev", "v1", columns=[Column("Ready", ".status.ready")])
    class Greeting(Object):
        '''Something worth repeating.'''
        spec: GreetingSpec = field(default_factory=GreetingSpec)
        status: GreetingStatus = field(default_factory=GreetingStatus)

    manifest = crd_manifest(Greeting)      # apply it, and the server knows Greetings

How types become schemas is written in `structural`, what annotations can add in `markers`.
The manifest is complete: the API server takes it unchanged and gives it back unchanged,
so a comparison with the live one shows real differences only.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from certwright.kube.names import dns1035_label_problems, dns_subdomain_problems
from certwright.kube.objects import JsonObject, Object, Resource
from certwright.kube.schemas.columns import printer_columns, scale_paths, selectable_fields
from certwright.kube.schemas.definition import Column, Definition, Scale, Scope
from certwright.kube.schemas.structural import structural_schema

T = TypeVar("T", bound=Object)


def custom_resource(  # noqa: PLR0913 - a declaration: each keyword is one line of the CRD
    group: str,
    version: str,
    *,
    kind: str = "",
    plural: str = "",
    scope: Scope = "Namespaced",
    short_names: Sequence[str] = (),
    categories: Sequence[str] = (),
    columns: Sequence[Column] = (),
    labels: Mapping[str, str] | None = None,
    status: bool = True,
    scale: Scale | None = None,
    selectable: Sequence[str] = (),
    served: bool = True,
    deprecated: bool | str = False,
) -> Callable[[type[T]], type[T]]:
    """Declare an Object subclass as one version of a kind of our own.

    *kind* is the name of the class unless given, *plural* its English plural. ``status`` is a
    subresource if the class has such a field and *status* does not say otherwise. *labels* are
    those of the CustomResourceDefinition. *selectable* are paths (``.spec.color``) usable in field
    selectors. *deprecated* may be the warning that users of the version read.

    Raises:
        ValueError: a name is not one the API server accepts.
    """

    def decorate(cls: type[T]) -> type[T]:
        name = kind or cls.__name__
        singular = name.lower()
        resource = Resource(
            group, version, name, plural or _plural(singular), scope == "Namespaced"
        )
        _check_names(resource, (singular, version, *short_names, *categories))
        cls.resource = resource
        cls.definition = Definition(
            singular=singular,
            short_names=tuple(short_names),
            categories=tuple(categories),
            columns=tuple(columns),
            labels=tuple(sorted((labels or {}).items())),
            status=status and "status" in cls.__struct_fields__,
            scale=scale,
            selectable_fields=tuple(selectable),
            served=served,
            deprecated=deprecated,
        )
        return cls

    return decorate


def crd_manifest(storage: type[Object], *others: type[Object]) -> JsonObject:
    """Return the CustomResourceDefinition of a kind.

    *storage* is the version objects are stored in, *others* are further versions of the
    same kind. They are served without conversion: they should differ in what they promise,
    not in how they spell it.

    Raises:
        SchemaError: a field cannot be expressed in a structural schema.
        ValueError: the versions are not versions of one kind.
    """
    versions = (storage, *others)
    _check_versions(versions)
    resource, definition = storage.resource, storage.definition
    names: JsonObject = {
        "kind": resource.kind,
        "listKind": f"{resource.kind}List",
        "plural": resource.plural,
        "singular": definition.singular,
    }
    if definition.short_names:
        names["shortNames"] = list(definition.short_names)
    if definition.categories:
        names["categories"] = list(definition.categories)
    metadata: JsonObject = {"name": resource.qualified}
    if definition.labels:
        metadata["labels"] = dict(definition.labels)
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": metadata,
        "spec": {
            "group": resource.group,
            "names": names,
            "scope": "Namespaced" if resource.namespaced else "Cluster",
            "versions": [_version(cls, storage=cls is storage) for cls in versions],
            "conversion": {"strategy": "None"},
        },
    }


def _version(cls: type[Object], *, storage: bool) -> JsonObject:
    definition, schema = cls.definition, structural_schema(cls)
    version: JsonObject = {
        "name": cls.resource.version,
        "served": definition.served,
        "storage": storage,
        "schema": {"openAPIV3Schema": schema},
    }
    if definition.deprecated:
        version["deprecated"] = True
    if isinstance(definition.deprecated, str) and definition.deprecated:
        version["deprecationWarning"] = definition.deprecated
    subresources: dict[str, Any] = {"status": {}} if definition.status else {}
    if definition.scale:
        subresources["scale"] = scale_paths(definition.scale, schema)
    if subresources:
        version["subresources"] = subresources
    if definition.columns:
        version["additionalPrinterColumns"] = printer_columns(definition.columns, schema)
    if definition.selectable_fields:
        version["selectableFields"] = selectable_fields(definition.selectable_fields, schema)
    return version


def _check_names(resource: Resource, labels: Sequence[str]) -> None:
    problems = dns_subdomain_problems(resource.group)
    if problems or "." not in resource.group:
        raise ValueError(
            f"{resource.kind}: the group {resource.group!r} is not a domain with a dot"
        )
    for label in (resource.plural, *labels):
        if problems := dns1035_label_problems(label):
            raise ValueError(f"{resource.kind}: {label!r}: {'; '.join(problems)}")


def _check_versions(versions: Sequence[type[Object]]) -> None:
    for cls in versions:
        if not hasattr(cls, "definition"):
            raise ValueError(f"{cls.__name__} is not declared with @custom_resource")
    first = versions[0].resource
    for cls in versions[1:]:
        other = cls.resource
        if (first.qualified, first.kind, first.namespaced) != (
            other.qualified,
            other.kind,
            other.namespaced,
        ):
            raise ValueError(f"{cls.__name__} is a version of {other}, not of {first}")
    seen = [cls.resource.version for cls in versions]
    if len(set(seen)) < len(seen):
        raise ValueError(f"{first.kind} has a version twice: {', '.join(seen)}")


def _plural(singular: str) -> str:
    if singular.endswith(("s", "x", "z", "ch", "sh")):
        return f"{singular}es"
    if singular.endswith("y") and singular[-2:-1] not in {"a", "e", "i", "o", "u"}:
        return f"{singular[:-1]}ies"
    return f"{singular}s"
