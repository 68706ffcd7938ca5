"""Schemas: what an object of a kind may look like.

An object and a `Schema` enter; the object leaves defaulted and pruned (`structural`, `nulls`),
or with the causes for which it is invalid (`constraints`, `formats`).
"""
