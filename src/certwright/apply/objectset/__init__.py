"""Many objects under one inventory: applied, guarded, pruned and deleted as one.

Declared objects and an `inventory` enter; the inventory is written ahead, the objects are
applied, `prune` decides what may go, and a report about all of it leaves. `shards` divides an
inventory that is too large for one object of the API.
"""
