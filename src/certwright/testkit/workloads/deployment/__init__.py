"""Deployments: ReplicaSets enter; their sizes, new ones and the status leave.

`rollout` decides sizes, `status` what is said about them, `controller` brings them together.
"""
