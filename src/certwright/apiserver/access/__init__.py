"""Who may do what.

A user and the attributes of a request enter, permission or a refusal leaves: users and their
tokens, impersonation, the roles and bindings that are stored (RBAC) and those that every
cluster has.
"""
