"""Words and arithmetic of Kubernetes: what things are called, how they compare and change.

JSON values and texts enter; typed values, comparisons, patches and generated schemas leave.
Everything is a value or a pure function: no ``await``, no input or output, no clock. This
package exports what controllers and issuers need; the rest is imported from its module.
"""

from certwright.kube.conditions import (
    Condition,
    ConditionStatus,
    find_condition,
    is_true,
    merge_conditions,
)
from certwright.kube.errors import (
    AlreadyExists,
    ApiError,
    BadRequest,
    Conflict,
    Forbidden,
    Gone,
    InternalError,
    Invalid,
    MethodNotAllowed,
    NotFound,
    RequestTooLarge,
    ServerTimeout,
    ServiceUnavailable,
    TooManyRequests,
    Unauthorized,
)
from certwright.kube.names import hashed_name
from certwright.kube.objects import (
    GroupVersionKind,
    JsonObject,
    Key,
    Object,
    ObjectMeta,
    OwnerReference,
    Resource,
    key_of,
    resource_of,
)
from certwright.kube.patches import JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH
from certwright.kube.quantities import Quantity
from certwright.kube.schemas.check import SchemaError
from certwright.kube.schemas.crd import crd_manifest, custom_resource
from certwright.kube.schemas.definition import Column, Scale
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
from certwright.kube.selectors import LabelSelector
from certwright.kube.timestamps import format_time, parse_time

__all__ = [
    "JSON_PATCH",
    "MERGE_PATCH",
    "STRATEGIC_MERGE_PATCH",
    "AlreadyExists",
    "ApiError",
    "BadRequest",
    "Column",
    "Condition",
    "ConditionStatus",
    "Conflict",
    "DurationText",
    "Forbidden",
    "Gone",
    "GroupVersionKind",
    "IntOrString",
    "InternalError",
    "Invalid",
    "JsonObject",
    "Key",
    "LabelSelector",
    "MethodNotAllowed",
    "NotFound",
    "Object",
    "ObjectMeta",
    "OwnerReference",
    "Quantity",
    "QuantityValue",
    "RequestTooLarge",
    "Resource",
    "Scale",
    "SchemaError",
    "ServerTimeout",
    "ServiceUnavailable",
    "TooManyRequests",
    "Unauthorized",
    "atomic",
    "crd_manifest",
    "custom_resource",
    "embedded_resource",
    "find_condition",
    "format_time",
    "hashed_name",
    "is_true",
    "key_of",
    "list_map",
    "list_set",
    "marked",
    "merge_conditions",
    "parse_time",
    "preserve_unknown",
    "resource_of",
    "rule",
]
