"""The cache: lists and watches go in; stores of entries with indexes come out, always
current or known to be stale.
"""
