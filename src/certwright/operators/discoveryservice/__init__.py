"""Runs a discovery service for Envoy: its certificates, its workload, sidecars and configuration.

What enters are DiscoveryServices, their certificates and EnvoyConfigs; what leaves are the objects
of a control plane that all sidecars of the enabled namespaces connect to, and Pods that have such a
sidecar. `certificates` issues and rotates, `service` installs and removes, `injection` changes
Pods, `config` turns EnvoyConfigs into what the control plane serves.
"""
