"""Bring objects to a cluster and keep them as declared.

Only `engine`, `cluster` and `following` talk to a cluster. Everything else reads, orders,
compares and judges objects, and works without one.

==================  =============================================================
`engine`            applies and deletes objects, and reports the result of each
`cluster`           what the engine needs of a cluster; `Direct` asks the server
`wanted`            an object that should exist, its owner, and the rules for it
`following`         objects as they change
`deletion`          the rules for what is no longer wanted
`bundle`            objects under a name: applied, pruned and deleted as one
`inventory`         the list of objects behind a name, stored in the cluster
`prune`             what may be deleted because it is no longer wanted
`memory`            what was applied, so that unchanged objects cost nothing
`manifests`         YAML and JSON in, as kubectl reads them, within `limits`
`ordering`          what is applied first, and deleted last
`diff`, `masking`   what differs, without the values of Secrets
`changeset`         the result for each object, and why
`health`            whether objects are healthy and rolled out
`refs`              which object is meant
==================  =============================================================
"""

from certwright.apply import health
from certwright.apply.changeset import Action, ChangeSet, Entry, Writer, last_foreign_writer
from certwright.apply.cluster import (
    Cluster,
    Direct,
    Live,
    UnknownKind,
    left_of,
    other_version,
)
from certwright.apply.diff import ABSENT, Diff, FieldChange, compare, render
from certwright.apply.engine.adoption import Claim, Right, claim
from certwright.apply.engine.blockers import (
    blockers,
    events_text,
    human_duration,
    lasting_events_text,
)
from certwright.apply.engine.delete import warnings_about
from certwright.apply.engine.deleterules import DeleteRules
from certwright.apply.engine.engine import Engine, OnEntry
from certwright.apply.engine.memory import Memory
from certwright.apply.engine.preserve import Sent, preserve
from certwright.apply.engine.wanted import Adopt, Owner, Rules, Wanted
from certwright.apply.follow import follow
from certwright.apply.manifests.compression import CompressionError, pack_brotli
from certwright.apply.manifests.errors import ManifestError, Origin
from certwright.apply.manifests.limits import LimitExceeded, Limits
from certwright.apply.manifests.manifests import (
    Manifest,
    Manifests,
    read_files,
    read_secret,
    read_text,
)
from certwright.apply.objectset.inventory import Inventories, Inventory, InventoryError
from certwright.apply.objectset.objectset import Bundle, PruneOptions
from certwright.apply.objectset.prune import Pruning, is_mass_deletion, plan_pruning
from certwright.apply.ordering import in_apply_order, in_delete_order, is_awaited, stages, waves
from certwright.apply.redaction import masked
from certwright.apply.refs import ObjectRef

__all__ = [
    "ABSENT",
    "Action",
    "Adopt",
    "Bundle",
    "ChangeSet",
    "Claim",
    "Cluster",
    "CompressionError",
    "DeleteRules",
    "Diff",
    "Direct",
    "Engine",
    "Entry",
    "FieldChange",
    "Inventories",
    "Inventory",
    "InventoryError",
    "LimitExceeded",
    "Limits",
    "Live",
    "Manifest",
    "ManifestError",
    "Manifests",
    "Memory",
    "ObjectRef",
    "OnEntry",
    "Origin",
    "Owner",
    "PruneOptions",
    "Pruning",
    "Right",
    "Rules",
    "Sent",
    "UnknownKind",
    "Wanted",
    "Writer",
    "blockers",
    "claim",
    "compare",
    "events_text",
    "follow",
    "health",
    "human_duration",
    "in_apply_order",
    "in_delete_order",
    "is_awaited",
    "is_mass_deletion",
    "last_foreign_writer",
    "lasting_events_text",
    "left_of",
    "masked",
    "other_version",
    "pack_brotli",
    "plan_pruning",
    "preserve",
    "read_files",
    "read_secret",
    "read_text",
    "render",
    "stages",
    "warnings_about",
    "waves",
]
