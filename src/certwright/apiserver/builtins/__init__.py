"""The built-in kinds of kube-apiserver 1.36: shapes, defaults, rules and printed columns.

The tables beside the code enter; kinds that the server can store, complete, check and print leave.
"""

from certwright.apiserver.builtins.catalog import definition_name, descriptions, served_kinds
from certwright.apiserver.builtins.notation import definitions
from certwright.apiserver.builtins.rules.services import ServiceAllocator

__all__ = ["ServiceAllocator", "definition_name", "definitions", "descriptions", "served_kinds"]
