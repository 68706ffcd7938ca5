"""``certwright cert-manager``: installations of cert-manager, looked at before and after changes.

Custom resources, from files or from the cluster, enter; manifests, comparisons and findings leave.
`render` and `versions` need no cluster. `plan`, `check`, `explain` and `adopt` ask one, and decide
with the functions of the operator. `inputs` finds the custom resource and the bundles that are
meant.
"""
