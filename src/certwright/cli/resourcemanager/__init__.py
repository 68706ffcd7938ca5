"""``certwright resource-manager``."""
