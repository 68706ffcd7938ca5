"""Verbs: an authorized request goes in; objects are read, written and deleted."""
