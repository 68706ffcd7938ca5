"""Object sets kept in a cluster by events.

An operator says which objects it wants in a target cluster; this layer watches them there, wakes
the operator when one of them changes, and reports what became of each. What enters are object
sets and events of the target; what leaves are writes to it, and keys of sets to look at again.

==================  =============================================================
`stores`            the target cluster as a set of stores, one per kind in use
`cluster`           the same as the engine sees it: read from stores, written to
`drift`             from a change in the target to the set it concerns, which it wakes
`marks`             the label and the owner that the objects of an operator carry
`keptset`           one pass over one set, and the staleness check before it
`health`            how the objects of a set are
`repair`            a few objects of a large set, without a pass over all
`state`             what is remembered between two passes, fights included
`retry`             when a pass that came to nothing is repeated
`preview`           what would become of a set, by dry runs, for command lines
`installer`         all of it for an operator whose status holds the inventory
==================  =============================================================
"""

from certwright.keep.installer import Installer, StatusInventory
from certwright.keep.keptset import Confirmation, DeclaredSet, KeptChanges, KeptSets, OutOfDate
from certwright.keep.state import SetState, SetStates
from certwright.keep.stores import TargetStores

__all__ = [
    "Confirmation",
    "DeclaredSet",
    "Installer",
    "KeptChanges",
    "KeptSets",
    "OutOfDate",
    "SetState",
    "SetStates",
    "StatusInventory",
    "TargetStores",
]
