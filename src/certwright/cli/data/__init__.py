"""``certwright gc`` and ``certwright unique``."""
