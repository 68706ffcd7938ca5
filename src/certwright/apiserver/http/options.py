"""What a writer says about its write, read from query parameters and DeleteOptions."""

from dataclasses import dataclass, field, replace

from certwright.apiserver.access.users import UserInfo
from certwright.apiserver.admission.admission import AdmissionRequest
from certwright.apiserver.causes import (
    forbidden_value,
    invalid_value,
    required,
    too_long,
    unsupported_value,
)
from certwright.apiserver.fields.manager import default_manager
from certwright.apiserver.gotext import json_type
from certwright.apiserver.http.request import Call
from certwright.apiserver.refusals import invalid
from certwright.kube.errors import BadRequest, Cause
from certwright.kube.objects import JsonObject

_MANAGER_LIMIT = 128
_META = "meta.k8s.io/v1"
_DELETE_FIELDS = (
    ("gracePeriodSeconds", int, "int64"),
    ("propagationPolicy", str, "v1.DeletionPropagation"),
    ("orphanDependents", bool, "bool"),
    ("dryRun", list, "[]string"),
    ("preconditions", dict, "v1.Preconditions"),
)
_VALIDATIONS = ("", "Ignore", "Strict", "Warn")
_POLICIES = ("Foreground", "Background", "Orphan")


@dataclass(frozen=True, slots=True)
class WriteParameters:
    """How a create, update or patch wants to be carried out."""

    field_manager: str
    validation: str
    """Ignore, Warn or Strict: what happens to fields the kind does not have."""
    dry_run: bool = False
    force: bool | None = None
    warnings: list[str] = field(default_factory=list)
    """What the answer will warn about; filled while the write is carried out."""
    user: UserInfo | None = None
    """The user that writes; None for the server itself."""
    admission: AdmissionRequest | None = None
    """Asks the webhooks that may be concerned; None if there are none."""


def write_options(call: Call, options_kind: str, *, applies: bool = False) -> WriteParameters:
    """Read the options of a write; *options_kind* names them in refusals."""
    causes: list[Cause] = []
    manager = call.query.get("fieldManager", "")
    if len(manager) > _MANAGER_LIMIT:
        causes.append(too_long("fieldManager", _MANAGER_LIMIT))
    validation = call.query.get("fieldValidation", "")
    if validation not in _VALIDATIONS:
        causes.append(unsupported_value("fieldValidation", validation, [*_VALIDATIONS]))
    force = call.flag("force") if "force" in call.query else None
    if options_kind == "PatchOptions" and applies:
        if not manager:
            causes.insert(0, required("fieldManager", "is required for apply patch"))
    elif force is not None and options_kind == "PatchOptions":
        causes.insert(0, forbidden_value("force", "may not be specified for non-apply patch"))
    dry_run = _dry_run([value for name, value in call.request.query if name == "dryRun"], causes)
    if causes:
        raise invalid(options_kind, "meta.k8s.io", "", causes)
    return WriteParameters(
        manager or default_manager(call.headers.get("user-agent", "")),
        validation or "Warn",
        dry_run,
        force,
        call.warnings,
        call.user,
        _write_admission(call) if call.webhooks is not None else None,
    )


def _write_admission(call: Call) -> AdmissionRequest | None:
    options: JsonObject = {"apiVersion": _META}
    for name in ("fieldManager", "fieldValidation"):
        if call.query.get(name):
            options[name] = call.query[name]
    if dry_run := [value for name, value in call.request.query if name == "dryRun"]:
        options["dryRun"] = dry_run
    return _admission(call, options)


def _admission(call: Call, options: JsonObject) -> AdmissionRequest | None:
    assert call.webhooks is not None
    place = (call.namespace, call.name, call.subresource)
    return call.webhooks.request(call.kind, place, call.user, options, call.warnings)


@dataclass(frozen=True, slots=True)
class DeleteParameters:
    """How a delete wants to be carried out."""

    uid: str | None = None
    resource_version: str | None = None
    policy: str | None = None
    """Background, Foreground, Orphan, or None for the kind's own default."""
    grace_seconds: int | None = None
    dry_run: bool = False
    orphan_dependents: bool | None = None
    admission: AdmissionRequest | None = None
    """Asks the webhooks that may be concerned; None if there are none."""


def delete_options(call: Call) -> DeleteParameters:
    """Read the options of a delete, from the body or else from the query."""
    body = call.document() if call.request.body else _delete_query(call)
    options = delete_options_from(body)
    if call.webhooks is None:
        return options
    shown = {name: body[name] for name, _, _ in _DELETE_FIELDS if body.get(name) is not None}
    if not shown.get("dryRun"):
        shown.pop("dryRun", None)
    return replace(options, admission=_admission(call, {"apiVersion": _META, **shown}))


def _delete_query(call: Call) -> JsonObject:
    body: JsonObject = {}
    if "propagationPolicy" in call.query:
        body["propagationPolicy"] = call.query["propagationPolicy"]
    if "gracePeriodSeconds" in call.query:
        body["gracePeriodSeconds"] = call.integer("gracePeriodSeconds")
    if "orphanDependents" in call.query:
        body["orphanDependents"] = call.flag("orphanDependents")
    body["dryRun"] = [value for name, value in call.request.query if name == "dryRun"]
    return body


def delete_options_from(body: JsonObject) -> DeleteParameters:
    """Read a DeleteOptions document."""
    causes: list[Cause] = []
    for name, type_, go_name in _DELETE_FIELDS:
        value = body.get(name)
        if value is not None and type(value) is not type_:
            raise BadRequest(
                f"json: cannot unmarshal {json_type(value)} into Go struct field "
                f"DeleteOptions.{name} of type {go_name}"
            )
    kind = body.get("kind", "DeleteOptions")
    if kind != "DeleteOptions":
        raise BadRequest(
            f'no kind "{kind}" is registered for version "{body.get("apiVersion")}" in scheme '
            '"pkg/runtime/scheme.go:111"'
        )
    policy = body.get("propagationPolicy")
    orphan = body.get("orphanDependents")
    if policy is not None and policy not in _POLICIES:
        causes.append(unsupported_value("propagationPolicy", policy, [*_POLICIES, "nil"]))
    if policy is not None and orphan is not None:
        why = "orphanDependents and deletionPropagation cannot be both set"
        causes.insert(0, invalid_value("propagationPolicy", policy, why))
    dry_run = _dry_run(body.get("dryRun") or [], causes)
    if causes:
        raise invalid("DeleteOptions", "meta.k8s.io", "", causes)
    if orphan is not None:
        policy = "Orphan" if orphan else "Background"
    preconditions = body.get("preconditions") or {}
    return DeleteParameters(
        uid=preconditions.get("uid"),
        resource_version=preconditions.get("resourceVersion"),
        policy=policy,
        grace_seconds=body.get("gracePeriodSeconds"),
        dry_run=dry_run,
        orphan_dependents=orphan,
    )


def _dry_run(values: list[str], causes: list[Cause]) -> bool:
    if any(value != "All" for value in values):
        causes.append(unsupported_value("dryRun", values, ["All"]))
    return bool(values)
