"""cert-manager as data: what one version consists of, and what is known about all of them.

What enters are release manifests, charts, files and ConfigMaps; what leaves are bundles, the
objects of one version of cert-manager, checked against a digest. Nothing here is fetched while an
operator runs.

==================  =============================================================
`bundle`            the objects of one version, as a value
==================  =============================================================
"""
