"""Object sets: many objects under a name. The inventory is written ahead, then objects are
applied, what is no longer declared is guarded and pruned, and the result reported.
"""
