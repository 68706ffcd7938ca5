"""Object sets kept in a cluster by events."""
