"""API groups that belong to certwright, one module per group version.

Empty so far: the kinds arrive with the operators that need them. Each module will declare
its kinds with `certwright.kube.custom_resource`, and the CRDs in ``deploy/`` are generated
from them.
"""
