"""``certwright apply``, ``diff`` and ``delete``."""
