"""``certwright mr``: look at ManagedResources, preview a pass, delete one that is stuck.

`actions` asks the cluster and has the operator's own code preview a pass; `text` turns a
ManagedResource into a line of a list or into an explanation.
"""
