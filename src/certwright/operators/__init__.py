"""Operators: controllers with a purpose, built on the runtime. None imports another.

`managedresource` keeps objects as Secrets describe them, `garbagecollector` deletes immutable
configuration that nothing uses, `tokenrequestor` requests and renews tokens of ServiceAccounts,
`rollout` restarts workloads when what they use has changed. Two are installers, on
`certwright.keep`: `certmanager` of cert-manager, `discoveryservice` of a control plane for Envoys.
"""
