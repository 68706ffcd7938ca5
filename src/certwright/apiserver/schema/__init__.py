"""Schemas: what an object of a kind may look like; objects are decoded, defaulted, pruned and
validated along them.
"""
