"""Object sets kept in a cluster by events.

An operator says which objects it wants in a target cluster; this layer watches them there, wakes
the operator when one of them changes, and reports what became of each. What enters are object
sets and events of the target; what leaves are writes to it, and keys of sets to look at again.
"""
