"""A Kubernetes API server in this process, for tests, demonstrations and torture."""
