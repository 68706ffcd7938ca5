"""``certwright up``."""
