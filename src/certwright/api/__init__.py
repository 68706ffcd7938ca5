"""API groups that certwright serves, one module per group.

Each module declares its kinds with `certwright.kube.custom_resource`, and the CRDs in
``deploy/`` are generated from them.
"""
