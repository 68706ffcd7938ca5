"""Access: who sends a request, and whether they may."""
