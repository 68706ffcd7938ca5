"""CustomResourceDefinitions: what they may say, and the kinds they add."""

from certwright.apiserver.crds.served import root_schema, served_kinds
from certwright.apiserver.crds.status import accept, complete, prepare

__all__ = ["accept", "complete", "prepare", "root_schema", "served_kinds"]
