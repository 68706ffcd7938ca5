"""``certwright xds``: what Envoys are configured with, before and after they are.

Manifests of EnvoyConfigs enter and problems with their paths leave; or a cluster is asked what its
Envoys run. `schemas` finds the schema that both need.
"""
