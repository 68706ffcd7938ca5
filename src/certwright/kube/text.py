"""Text that comes from others, as people are shown it."""


def printable(text: str) -> str:
    """Return text with what is not printable escaped: it might end a line or steer a terminal."""
    if text.isprintable():
        return text
    return "".join(
        one if one.isprintable() else one.encode("unicode_escape").decode() for one in text
    )
