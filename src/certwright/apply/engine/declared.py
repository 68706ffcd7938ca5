"""A declared object, the rules for applying it, and what is sent before the live one is read."""

import binascii
from base64 import b64decode, b64encode
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Any, Final

from certwright.apply.refs import ObjectRef
from certwright.kube import JsonObject
from certwright.kube.redaction import is_secret

CLIENT_SIDE_APPLY: Final = "kubectl-client-side-apply"
"""The field manager of kubectl apply, without ``--server-side``."""
LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
"""The annotation in which kubectl apply keeps what it wrote."""
HELM: Final = "helm"
"""The field manager of Helm."""


class Adopt(StrEnum):
    """What to do about an object that is there already and has no owner."""

    ALWAYS = "Always"
    IF_LABELLED = "IfLabelled"
    """Only if it carries `Rules.adopt_labels`."""
    NEVER = "Never"


@dataclass(frozen=True, slots=True)
class Rules:
    """How one object is brought to the cluster, and what of it is left to others.

    The defaults are what a command line wants: everything in the manifest is ours, everything
    else is not our business, and nothing is deleted to get there.
    """

    create_only: bool = False
    """Create the object if it is missing, exactly as written, and never touch it again."""
    fall_back: bool = False
    """Leave the object alone, without complaint, while it is there and not ours."""
    adopt: Adopt = Adopt.ALWAYS
    adopt_labels: Mapping[str, str] = field(default_factory=dict)
    take_over: bool = False
    """Take the object even from another owner."""
    take_over_from: tuple[str, ...] = ()
    """Field managers whose fields become ours, so that those no longer wanted disappear. With
    `CLIENT_SIDE_APPLY` that is the manager that wrote the annotation that kubectl leaves behind."""
    force: bool = True
    """Take fields that other managers hold with other values; else the object is not written,
    and the result names them."""
    preserve_replicas: bool = False
    """Another controller scales it: the live number of replicas stays."""
    preserve_resources: bool = False
    """Another controller sizes it: live cpu and memory of containers stay."""
    preserve_allocated: bool = True
    """Keep what the cluster filled in where apply alone would not: ports, addresses, claim
    templates, selectors of Jobs, secrets of ServiceAccounts, restarts, finalizers, status."""
    ignored: tuple[tuple[str, ...], ...] = ()
    """Fields that others may own, as paths: the value they have in the cluster stays."""
    exact_labels: bool = False
    """Remove labels of others."""
    exact_annotations: bool = False
    """Remove annotations of others."""
    exact_owners: bool = False
    """Remove ownerReferences of others."""
    drop_labels: tuple[str, ...] = ()
    """Prefixes of labels that are removed wherever they are not wanted."""
    drop_annotations: tuple[str, ...] = ()
    """Prefixes of annotations that are removed wherever they are no longer wanted."""
    created_as: Callable[[JsonObject], JsonObject] | None = None
    """What a kept object is created as, asked for at that moment: as declared, with fields that
    others would fill in only later."""
    recreate: bool = False
    """Delete and create anew what cannot be changed; else only where nothing can be lost."""
    recreate_propagation: str = ""
    """What happens to dependents then: Background, Foreground, Orphan, or the kind's default."""


@dataclass(frozen=True)
class Declared:
    """An object as it should be."""

    obj: JsonObject = field(repr=False)  # it may be a Secret
    rules: Rules = Rules()

    def __str__(self) -> str:
        return str(self.ref)

    @cached_property
    def ref(self) -> ObjectRef:
        """Which object it is."""
        return ObjectRef.of(self.obj)


class ObjectOrigin(StrEnum):
    """How an object became ours, as an annotation on it says."""

    CREATED = "created"
    """We created it."""
    ADOPTED = "adopted"
    """It was there before, or it does not say any more that we created it."""


class OwnerState(StrEnum):
    """What is known of another owner that an object names."""

    GONE = "gone"
    """It does not exist any more; it may have left the object on purpose."""
    RELEASED = "released"
    """It exists, and its inventory does not list the object."""
    HOLDS = "holds"
    """Its inventory lists the object, or cannot be read."""


async def _unknown(_value: str, _ref: ObjectRef) -> OwnerState:
    return OwnerState.HOLDS


@dataclass(frozen=True, slots=True)
class Owner:
    """Whose objects these are, as an annotation on each of them says."""

    annotation: str
    value: str
    marks: tuple[str, ...] = ()
    """Further annotations that go when an object is released."""
    aliases: Callable[[str], bool] = lambda _value: False
    """Which other values mean us as well."""
    former: Callable[[str], bool] = lambda _value: False
    """Which values may have meant us before: we take such objects, and do not delete them."""
    state: Callable[[str, ObjectRef], Awaitable[OwnerState]] = _unknown
    """Whether another owner still holds an object; one that does not loses it to us."""
    signs: Callable[[str], bool] = lambda _manager: True
    """Which field managers write this annotation; what others write there names no owner."""
    withheld: Callable[[str, Mapping[str, str]], str] = lambda _value, _annotations: ""
    """Returns why an object of another owner, with these annotations, must not be taken over."""
    digest: str = ""
    """The annotation that says what was declared when a kept object was last written."""
    origin: str = ""
    """The annotation that says how a kept object became ours, see `ObjectOrigin`."""
    labels: tuple[str, ...] = ()
    """Labels that go when an object is released."""

    def owns(self, value: str) -> bool:
        """Return whether an annotation with this value means us."""
        return value == self.value or self.aliases(value)


_SERVER_METADATA: Final = frozenset(
    {
        "managedFields", "resourceVersion", "uid", "generation", "selfLink",
        "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds",
    }
)  # fmt: skip
"""What manifests written by ``kubectl get -o yaml`` carry and no manifest can want."""


def desired_of(wanted: Declared, owner: Owner | None) -> JsonObject:
    """Return the object to apply, marked as ours.

    What is only ever created goes as it was written. In Secrets ``stringData`` becomes ``data``, as
    the server would do it: only then does a key that is no longer wanted go. Raises `ValueError` if
    the metadata are too malformed to write to.
    """
    if wanted.rules.create_only:
        return wanted.obj
    obj = {**wanted.obj, "metadata": _metadata(wanted.obj.get("metadata") or {}, owner)}
    if is_secret(obj):
        _encode(obj)
    elif isinstance(obj.get("binaryData"), dict) and obj.get("kind") == "ConfigMap":
        obj["binaryData"] = _canonical(obj["binaryData"])
    return obj


def _metadata(metadata: Any, owner: Owner | None) -> JsonObject:
    if not isinstance(metadata, dict) or not isinstance(metadata.get("annotations") or {}, dict):
        raise ValueError("metadata and its annotations must be maps")  # noqa: TRY004 - bad data
    kept: dict[str, Any] = {
        name: value for name, value in metadata.items() if name not in _SERVER_METADATA
    }
    if owner is not None:
        kept["annotations"] = {**(kept.get("annotations") or {}), owner.annotation: owner.value}
    return kept


def _encode(secret: JsonObject) -> None:
    """Move texts to data; leave what is not of the right shape for the server to refuse."""
    data, texts = secret.get("data") or {}, secret.get("stringData") or {}
    if not isinstance(data, dict) or not isinstance(texts, dict):
        return
    if not all(isinstance(text, str) for text in texts.values()):
        return
    encoded = {name: b64encode(text.encode()).decode() for name, text in texts.items()}
    secret.pop("stringData", None)
    if data or encoded:
        secret["data"] = {**_canonical(data), **encoded}


def _canonical(data: JsonObject) -> JsonObject:
    """Return base64 as the server writes it: manifests break long lines."""
    return {name: _in_one_line(value) for name, value in data.items()}


def _in_one_line(value: Any) -> Any:
    if not isinstance(value, str) or not ("\n" in value or "\r" in value):
        return value
    joined = value.replace("\n", "").replace("\r", "")
    try:
        b64decode(joined, validate=True)
    except (binascii.Error, ValueError):
        return value
    return joined
