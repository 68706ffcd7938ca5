"""``certwright unique``: ConfigMaps and Secrets named after their contents.

Manifests enter and leave, like through a filter: `rename` gives the ConfigMaps and Secrets new
names and makes the references of the other manifests follow.
"""
