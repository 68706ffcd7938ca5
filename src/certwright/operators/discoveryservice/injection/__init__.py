"""Gives Pods an Envoy that takes its configuration from a DiscoveryService.

What enters is a Pod as a client sends it; what leaves is the same Pod with the sidecar, or a denial
that names the annotation. All of it is decided without a cluster.

==================  =============================================================
`annotations`       what the annotations of a Pod ask for
`ports`             the ports of the sidecar, and of its node
`sidecar`           the containers and volumes that follow
`inject`            the whole Pod: added once, or denied
`bootstrap`         the files with which Envoy starts
`review`            the same for reviews of the API server
==================  =============================================================
"""
