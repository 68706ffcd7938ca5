"""Bring objects to a cluster and keep them as declared: the parts that decide.

Everything here so far is pure: it reads, orders, compares and judges, and leaves talking to a
cluster to others.

==================  =============================================================
`manifests`         YAML and JSON in, as kubectl reads them, within `limits`
`ordering`          what is applied first, and deleted last
`diff`, `masking`   what differs, without the values of Secrets
`changeset`         what became of each object, and why
`health`            whether objects do what they should, and have arrived
`refs`              which object is meant
==================  =============================================================
"""

from certwright.apply import health
from certwright.apply.changeset import Action, ChangeSet, Entry, Writer, last_foreign_writer
from certwright.apply.compression import CompressionError
from certwright.apply.diff import ABSENT, Diff, FieldChange, compare, render
from certwright.apply.errors import ManifestError, Origin
from certwright.apply.limits import LimitExceeded, Limits
from certwright.apply.manifests import Manifest, Manifests, read_files, read_secret, read_text
from certwright.apply.masking import masked
from certwright.apply.ordering import in_apply_order, in_delete_order, is_awaited, stages
from certwright.apply.refs import ObjectRef

__all__ = [
    "ABSENT",
    "Action",
    "ChangeSet",
    "CompressionError",
    "Diff",
    "Entry",
    "FieldChange",
    "LimitExceeded",
    "Limits",
    "Manifest",
    "ManifestError",
    "Manifests",
    "ObjectRef",
    "Origin",
    "Writer",
    "compare",
    "health",
    "in_apply_order",
    "in_delete_order",
    "is_awaited",
    "last_foreign_writer",
    "masked",
    "read_files",
    "read_secret",
    "read_text",
    "render",
    "stages",
]
