"""The pytest plugin: fixtures that give a test its cluster."""
