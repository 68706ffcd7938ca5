"""The custom resource `CertManagerDeployment`: what it asks for, and what its status tells.

What enters is the custom resource, as cmd-operator's users write it; what leaves is an
`InstallRequest`, and from the report of a pass its status and events. The engine does the rest.
"""
