"""``certwright marin3r``: command lines of marin3r, of both its eras, as they stand in manifests.

What enters are the words after the name of marin3r's program; what leaves are the words of the
command of ours that does the same, which then runs.
"""
