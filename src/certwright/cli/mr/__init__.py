"""``certwright mr``."""
