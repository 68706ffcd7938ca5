"""Field ownership: what server-side apply and every other write do to ``managedFields``."""
