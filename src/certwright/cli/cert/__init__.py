"""``certwright cert``."""
