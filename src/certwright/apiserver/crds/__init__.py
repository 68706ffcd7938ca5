"""CustomResourceDefinitions: how they are checked, and the kinds they add.

A definition enters; it leaves with its status, and as a kind that the server serves.
"""

from certwright.apiserver.crds.served import root_schema, served_kinds
from certwright.apiserver.crds.status import accept, complete, is_established, prepare

__all__ = ["accept", "complete", "is_established", "prepare", "root_schema", "served_kinds"]
