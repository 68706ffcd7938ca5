"""What a request changes of the objects of a bundle, one function per concern.

A copy of a bundle's objects and a request enter; each function changes the copy in place and
returns what is wrong with the request, if something can be. `render` calls them in their order.

==================  =============================================================
`shapes`            parts of a request that are free-form, checked
`bundlecopy`        the objects while they are changed, and where to find them
`legacynames`       names and selectors of the profile Legacy
`namespace`         another namespace to install to
`access`            ServiceAccounts, roles, and Secrets for pulling images
`images`            mirrors, digests, overrides of images
`arguments`         what a request says by flags
`followers`         objects that follow the values of flags
`configfile`        the file that ``--config`` names
`environment`       variables, proxies, trusted authorities
`workload`          replicas, resources, security, probes, volumes, nodes
`labels`            labels and annotations
`registrations`     the webhook's Service and registrations
`policies`          PodDisruptionBudgets and NetworkPolicies
`monitors`          what Prometheus reads
==================  =============================================================
"""
