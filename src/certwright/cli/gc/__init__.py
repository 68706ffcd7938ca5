"""``certwright gc``: one pass of the garbage collector, by hand.

The options enter, `collect` has the collector make its pass over the cluster, and a table of the
objects leaves: what becomes of each, and why.
"""
