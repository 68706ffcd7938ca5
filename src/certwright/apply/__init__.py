"""Bring objects to a cluster and keep them as declared.

Manifests enter; writes to a cluster leave, and a report about each object. `manifests` reads YAML
and JSON as kubectl does, `engine` applies or deletes one object, `objectset` many under one
inventory, `cluster` is what both need of a cluster, `follow` yields objects as they change.
Everything else works without a cluster: `ordering` is what comes first, `diff` what differs,
without the values of Secrets, `changeset` the results, `health` whether they are healthy.
"""

from certwright.apply import health
from certwright.apply.changeset import Action, Change, ChangeSet
from certwright.apply.cluster import Cluster, Direct, Live
from certwright.apply.diff import Diff, FieldChange
from certwright.apply.engine.declared import Adopt, Declared, Owner, Rules
from certwright.apply.engine.deleterules import DeleteRules
from certwright.apply.engine.engine import Engine
from certwright.apply.engine.memory import Memory
from certwright.apply.follow import follow
from certwright.apply.kinds import UnknownKind
from certwright.apply.manifests.compression import pack_brotli
from certwright.apply.manifests.limits import ReadLimits
from certwright.apply.manifests.read import (
    Manifest,
    ManifestError,
    Manifests,
    read_files,
    read_secret,
    read_text,
)
from certwright.apply.objectset.inventory import ConfigMapInventory, InventoryError, InventoryPort
from certwright.apply.objectset.objectset import ObjectSet, SetChanges
from certwright.apply.objectset.prune import PruneGuard, PruneOptions
from certwright.apply.refs import ObjectRef

__all__ = [
    "Action",
    "Adopt",
    "Change",
    "ChangeSet",
    "Cluster",
    "ConfigMapInventory",
    "Declared",
    "DeleteRules",
    "Diff",
    "Direct",
    "Engine",
    "FieldChange",
    "InventoryError",
    "InventoryPort",
    "Live",
    "Manifest",
    "ManifestError",
    "Manifests",
    "Memory",
    "ObjectRef",
    "ObjectSet",
    "Owner",
    "PruneGuard",
    "PruneOptions",
    "ReadLimits",
    "Rules",
    "SetChanges",
    "UnknownKind",
    "follow",
    "health",
    "pack_brotli",
    "read_files",
    "read_secret",
    "read_text",
]
