"""Which requests stay in memory: those that may still be signed, and nothing of the others."""

from dataclasses import dataclass

import orjson

from certwright.issuer.conditions import DENIED, FAILED, READY
from certwright.kube import JsonObject

_SETTLED_REASONS = frozenset({"Failed", "Denied"})
_MARK = "AA=="
"""Stands for a certificate that is there and that nobody needs to see."""


@dataclass(frozen=True, slots=True)
class Slim:
    """A transform for the stores of requests, for issuers of one group."""

    group: str

    def __call__(self, raw: bytes) -> bytes:
        """Return a request without its PEM texts if nobody will sign it any more."""
        obj: JsonObject = orjson.loads(raw)
        spec, status = obj.get("spec"), obj.get("status") or {}
        if not isinstance(spec, dict):
            return raw
        is_signing_request = "signerName" in spec
        if not self._is_foreign(spec) and not _is_settled(status, is_signing_request):
            return raw
        spec["request"] = ""
        for name in ("extra", "groups"):
            spec.pop(name, None)
        for name in ("certificate", "ca"):
            if status.get(name):
                status[name] = _MARK
        return orjson.dumps(obj)

    def is_open(self, raw: bytes) -> bool:
        """Whether a request may have to be signed by us."""
        obj: JsonObject = orjson.loads(raw)
        spec = obj.get("spec")
        if not isinstance(spec, dict):
            return True  # of another shape than we know: to be looked at
        return not self._is_foreign(spec) and not _is_settled(
            obj.get("status") or {}, "signerName" in spec
        )

    def _is_foreign(self, spec: JsonObject) -> bool:
        if "issuerRef" in spec:
            return bool(spec["issuerRef"].get("group") != self.group)
        return f".{self.group}/" not in (spec.get("signerName") or "")


def _is_settled(status: JsonObject, is_signing_request: bool) -> bool:  # noqa: FBT001
    conditions = status.get("conditions") or ()
    if is_signing_request:
        ended = any(one.get("type") in {FAILED, DENIED} for one in conditions)
        return ended or bool(status.get("certificate"))
    ready: JsonObject = next((one for one in conditions if one.get("type") == READY), {})
    failed = ready.get("status") == "False" and ready.get("reason") in _SETTLED_REASONS
    return failed or ready.get("status") == "True"
