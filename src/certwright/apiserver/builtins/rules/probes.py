"""Rules of probes and lifecycle handlers."""

from typing import Final

from certwright.apiserver.builtins.rules.checks import all_non_negative, one_of, port_or_name
from certwright.apiserver.causes import forbidden_value, invalid_value, required
from certwright.kube.errors import Cause
from certwright.kube.objects import JsonObject

_PROBES: Final = ("livenessProbe", "readinessProbe", "startupProbe")
_SECONDS: Final = (
    "initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold",
    "failureThreshold",
)  # fmt: skip
_HANDLERS: Final = ("exec", "httpGet", "tcpSocket", "grpc", "sleep")


def handler_causes(container: JsonObject, path: str) -> list[Cause]:
    """Probes and hooks name one action each, with plausible numbers."""
    causes: list[Cause] = []
    for field, hook in (container.get("lifecycle") or {}).items():
        if isinstance(hook, dict):
            causes += _action_causes(hook, f"{path}.lifecycle.{field}")
    for field in _PROBES:
        probe = container.get(field)
        if probe is None:
            continue
        where = f"{path}.{field}"
        causes += _action_causes(probe, where)
        causes += all_non_negative(probe, _SECONDS, where)
        if field != "readinessProbe" and probe["successThreshold"] != 1:
            value = probe["successThreshold"]
            causes.append(invalid_value(f"{where}.successThreshold", value, "must be 1"))
    return causes


def _action_causes(handler: JsonObject, path: str) -> list[Cause]:
    actions = [name for name in _HANDLERS if handler.get(name) is not None]
    if not actions:
        return [required(path, "must specify a handler type")]
    causes = [
        forbidden_value(f"{path}.{extra}", "may not specify more than 1 handler type")
        for extra in actions[1:]
    ]
    action, where = handler[actions[0]], f"{path}.{actions[0]}"
    if actions[0] == "exec" and not action.get("command"):
        causes.append(required(f"{where}.command"))
    if actions[0] in {"httpGet", "tcpSocket"}:
        causes += port_or_name(action.get("port", 0), f"{where}.port")
    if actions[0] == "httpGet":
        causes += one_of(action["scheme"], ("HTTP", "HTTPS"), f"{where}.scheme")
    return causes
