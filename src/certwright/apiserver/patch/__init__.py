"""Patches as arithmetic on objects.

An object and a patch enter, the patched object leaves: JSON patch, strategic merge, and the
messages for results that do not fit their kind. JSON merge patch is `certwright.kube.patches`.
"""
