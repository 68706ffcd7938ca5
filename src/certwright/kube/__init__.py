"""Words and arithmetic of Kubernetes: what things are called, how they compare and change.

Everything here is a value or a pure function: no ``await``, no input or output, no clock.
The modules, by what they know:

==================  =============================================================
`identity`          keys, kinds, resources and their paths
`kinds`             the built-in kinds, as `Resource` values
`objects`           typed objects and their metadata
`crd`, `markers`    kinds of our own, and the CRDs generated from them
`selectors`         label and field selectors
`conditions`        what a controller says about an object
`patches`           JSON patch and merge patch
`ownership`         which fields a manager owns, and what they hold
`matching`          whether a live object is as somebody wants it
`quantities`        amounts such as ``1.5Gi``
`durations`         Go durations such as ``1h30m0s``
`timestamps`        RFC 3339 instants
`names`             DNS rules, derived names
`errors`            what an API server refuses
==================  =============================================================
"""

from certwright.kube import kinds
from certwright.kube.comparison import contains, covers, is_applied, own_fields
from certwright.kube.conditions import (
    Condition,
    ConditionStatus,
    conditions_of,
    find_condition,
    is_true,
    merge_conditions,
)
from certwright.kube.durations import (
    format_duration,
    format_nanoseconds,
    parse_duration,
    parse_nanoseconds,
)
from certwright.kube.errors import (
    AlreadyExists,
    ApiError,
    BadRequest,
    Cause,
    Conflict,
    Forbidden,
    Gone,
    InternalError,
    Invalid,
    MethodNotAllowed,
    NotAcceptable,
    NotFound,
    RequestTooLarge,
    ServerTimeout,
    ServiceUnavailable,
    TooManyRequests,
    Unauthorized,
    UnsupportedMediaType,
)
from certwright.kube.identity import GroupVersionKind, GroupVersionResource, Key, Resource
from certwright.kube.names import (
    dns1035_label_problems,
    dns_label_problems,
    dns_subdomain_problems,
    generate_name,
    hashed_name,
    label_value_problems,
    qualified_name_problems,
)
from certwright.kube.objects import (
    JsonObject,
    Kind,
    Object,
    ObjectMeta,
    OwnerReference,
    key_of,
    resource_of,
)
from certwright.kube.ownership import FieldSet, project, projection_hash
from certwright.kube.patches.formats import (
    APPLY_PATCH,
    JSON_PATCH,
    MERGE_PATCH,
    STRATEGIC_MERGE_PATCH,
    PatchError,
    apply_json_patch,
    apply_merge_patch,
    create_json_patch,
    create_merge_patch,
)
from certwright.kube.quantities import Quantity
from certwright.kube.requirements import Operator, Requirement
from certwright.kube.schemas.check import SchemaError
from certwright.kube.schemas.crd import crd_manifest, custom_resource
from certwright.kube.schemas.definition import Column, Definition, Scale
from certwright.kube.schemas.markers import (
    DurationText,
    IntOrString,
    QuantityValue,
    atomic,
    embedded_resource,
    list_map,
    list_set,
    marked,
    preserve_unknown,
    rule,
)
from certwright.kube.schemas.structural import structural_schema
from certwright.kube.selectors import FieldRequirement, FieldSelector, LabelSelector
from certwright.kube.timestamps import format_micro_time, format_time, parse_time

__all__ = [
    "APPLY_PATCH",
    "JSON_PATCH",
    "MERGE_PATCH",
    "STRATEGIC_MERGE_PATCH",
    "AlreadyExists",
    "ApiError",
    "BadRequest",
    "Cause",
    "Column",
    "Condition",
    "ConditionStatus",
    "Conflict",
    "Definition",
    "DurationText",
    "FieldRequirement",
    "FieldSelector",
    "FieldSet",
    "Forbidden",
    "Gone",
    "GroupVersionKind",
    "GroupVersionResource",
    "IntOrString",
    "InternalError",
    "Invalid",
    "JsonObject",
    "Key",
    "Kind",
    "LabelSelector",
    "MethodNotAllowed",
    "NotAcceptable",
    "NotFound",
    "Object",
    "ObjectMeta",
    "Operator",
    "OwnerReference",
    "PatchError",
    "Quantity",
    "QuantityValue",
    "RequestTooLarge",
    "Requirement",
    "Resource",
    "Scale",
    "SchemaError",
    "ServerTimeout",
    "ServiceUnavailable",
    "TooManyRequests",
    "Unauthorized",
    "UnsupportedMediaType",
    "apply_json_patch",
    "apply_merge_patch",
    "atomic",
    "conditions_of",
    "contains",
    "covers",
    "crd_manifest",
    "create_json_patch",
    "create_merge_patch",
    "custom_resource",
    "dns1035_label_problems",
    "dns_label_problems",
    "dns_subdomain_problems",
    "embedded_resource",
    "find_condition",
    "format_duration",
    "format_micro_time",
    "format_nanoseconds",
    "format_time",
    "generate_name",
    "hashed_name",
    "is_applied",
    "is_true",
    "key_of",
    "kinds",
    "label_value_problems",
    "list_map",
    "list_set",
    "marked",
    "merge_conditions",
    "own_fields",
    "parse_duration",
    "parse_nanoseconds",
    "parse_time",
    "preserve_unknown",
    "project",
    "projection_hash",
    "qualified_name_problems",
    "resource_of",
    "rule",
    "structural_schema",
]
