"""Which pods are cert-manager's, and what their arguments say."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from certwright.kube import JsonObject
from certwright.testkit.workloads.podstate import is_deleting, is_ready

CONTROLLER: Final = "controller"
WEBHOOK: Final = "webhook"
CAINJECTOR: Final = "cainjector"

_IMAGE: Final = re.compile(
    r"(?:.*/)?(?:[\w.]+-)?cert-manager-(controller|webhook|cainjector)(?::([\w.-]+))?(?:@sha256:[0-9a-f]+)?"
)
_VARIABLE: Final = re.compile(r"\$\((\w+)\)")
_VERSION: Final = re.compile(r"v?(\d+)\.(\d+)")


@dataclass(frozen=True, slots=True)
class ComponentPod:
    """A pod of cert-manager."""

    pod: JsonObject
    component: str
    tag: str
    """The tag of its image, which names the version; may be empty."""
    flags: Mapping[str, Sequence[str]]
    """Its arguments by name, without dashes."""

    @property
    def name(self) -> str:
        """The name of the pod."""
        return str(self.pod["metadata"]["name"])

    @property
    def namespace(self) -> str:
        """The namespace of the pod."""
        return str(self.pod["metadata"]["namespace"])

    @property
    def uid(self) -> str:
        """The uid of the pod."""
        return str(self.pod["metadata"]["uid"])

    @property
    def user(self) -> str:
        """The user that its ServiceAccount is to the API server."""
        account = self.pod["spec"].get("serviceAccountName") or "default"
        return f"system:serviceaccount:{self.namespace}:{account}"

    @property
    def is_working(self) -> bool:
        """Whether it is ready and stays."""
        return is_ready(self.pod) and not is_deleting(self.pod)

    @property
    def minor(self) -> tuple[int, int]:
        """The version by major and minor number; the newest if the tag does not tell."""
        found = _VERSION.match(self.tag)
        return (int(found[1]), int(found[2])) if found else (99, 0)

    def flag(self, name: str, default: str = "") -> str:
        """Return the value of an argument, the last one if it is repeated."""
        values = self.flags.get(name)
        return values[-1] if values else default

    def listed(self, name: str) -> list[str]:
        """Return the values of an argument that is repeated, or holds commas, or both."""
        return [one for value in self.flags.get(name, ()) for one in value.split(",") if one]


def component_pod(pod: JsonObject) -> ComponentPod | None:
    """Return a pod as one of cert-manager's; None if it is none."""
    for container in pod["spec"].get("containers") or ():
        if found := _IMAGE.fullmatch(container.get("image") or ""):
            return ComponentPod(pod, found[1], found[2] or "", _flags(pod, container))
    return None


def _flags(pod: JsonObject, container: JsonObject) -> dict[str, list[str]]:
    variables = {each["name"]: _value(pod, each) for each in container.get("env") or ()}
    flags: dict[str, list[str]] = {}
    for text in container.get("args") or ():
        expanded = _VARIABLE.sub(lambda found: variables.get(found[1], found[0]), text)
        name, equals, value = expanded.lstrip("-").partition("=")
        flags.setdefault(name, []).append(value if equals else "true")
    return flags


def _value(pod: JsonObject, variable: JsonObject) -> str:
    field = ((variable.get("valueFrom") or {}).get("fieldRef") or {}).get("fieldPath", "")
    known = {f"metadata.{name}": pod["metadata"][name] for name in ("namespace", "name")}
    return str(variable.get("value") or known.get(field, ""))
