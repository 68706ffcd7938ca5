"""API groups that certwright serves, one module per group.

Each module declares its kinds with `certwright.kube.custom_resource`. The
CustomResourceDefinitions that commands print are generated from them.
"""
