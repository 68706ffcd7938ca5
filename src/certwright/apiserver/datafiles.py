"""Tables of constants that are files of a package: what they hold is data, not code."""

from configparser import RawConfigParser
from importlib.resources import files


def read_sections(package: str, name: str) -> dict[str, dict[str, str]]:
    """Return the sections of an ``.ini`` file of a package, in their order."""
    parser = RawConfigParser()
    parser.read_string(files(package).joinpath(name).read_text("utf-8"))
    return {section: dict(parser[section]) for section in parser.sections()}
