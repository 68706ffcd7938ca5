"""An issuer as a process: its controllers, its command, and what a cluster needs for it."""
