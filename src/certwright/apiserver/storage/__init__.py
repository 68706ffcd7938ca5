"""Storage: objects and their history; lists and watches of it."""
