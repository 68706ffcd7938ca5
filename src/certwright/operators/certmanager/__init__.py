"""Installs, configures, upgrades, repairs and removes cert-manager.

What enters is a custom resource, `CertManagerDeployment` or `CertManager`; an adapter turns either
into an `InstallRequest`. From the request and a bundle follow the objects wanted, and from these
and what is observed follows the step to take next.
"""
