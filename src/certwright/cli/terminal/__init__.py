"""The terminal: tables, progress, prompts."""
