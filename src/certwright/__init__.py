"""Certificate infrastructure for Kubernetes, in asyncio Python."""

__version__ = "0.1.0"
