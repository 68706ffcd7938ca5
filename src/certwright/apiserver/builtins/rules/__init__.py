"""Rules of the built-in kinds: what is defaulted and what is refused, by kind."""
