"""Where images come from: overrides, a registry, mirrors, digests, and when they are pulled."""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from certwright.operators.certmanager.overlays.bundlecopy import BundleCopy
from certwright.operators.certmanager.request import Component, Images, Problem, Reason

SOLVER: Final = "acmesolver"
SOLVER_FLAG: Final = "acme-http01-solver-image"
_RELEASED: Final = "quay.io/jetstack/cert-manager-"
_HOST: Final = r"(?:[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?)"
_DOMAIN: Final = rf"(?:{_HOST}(?:\.{_HOST})*|\[[0-9A-Fa-f:]+\])(?::[0-9]+)?"
_PART: Final = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_NAME: Final = rf"(?:{_DOMAIN}/)?{_PART}(?:/{_PART})*"
_DIGEST: Final = r"sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128}"
_REFERENCE: Final = re.compile(rf"({_NAME})(?::([\w][\w.-]{{0,127}}))?(?:@({_DIGEST}))?", re.ASCII)
_PREFIX: Final = re.compile(rf"{_DOMAIN}(?:/{_PART})*", re.ASCII)
_LONGEST: Final = 255
_POLICIES: Final = ("", "Always", "IfNotPresent", "Never")


def image_problem(reference: str) -> str:
    """Return why a text is no reference of an image; empty if it is one."""
    found = _REFERENCE.fullmatch(reference)
    if found is None or len(found[1]) > _LONGEST:
        return f"{reference[:80]!r} is no reference of an image such as quay.io/team/name:v1"
    return ""


def located(reference: str, images: Images, component: str) -> str:
    """Return where an image of the release is to come from."""
    name, tag = _split(reference)
    if images.registry:
        name = f"{images.registry.rstrip('/')}/{name.rpartition('/')[2]}"
    name = _mirrored(name, images.mirrors)
    digest = images.digests.get(component, "")
    suffix = images.tag_suffix if tag and not digest else ""
    return f"{name}{tag}{suffix}{'@' if digest else ''}{digest}"


def image_places(copy: BundleCopy, images: Images) -> list[Problem]:
    """Set image and pull policy of all containers; return what is wrong with the request."""
    problems = list(_general(images))
    for one in copy.components():
        container = one.container
        image = one.wanted.image or located(str(container["image"]), images, one.component)
        if problem := image_problem(image):
            text = f"{one.component}: {problem}"
            problems.append(Problem(Reason.INVALID_IMAGE, one.component, text, "image"))
        container["image"] = image
        if images.pull_policy:
            container["imagePullPolicy"] = images.pull_policy
    return problems


def solver_image(images: Images, version: str, bundled: str) -> str:
    """Return the image that answers HTTP-01 challenges; empty if the built-in one is meant."""
    moved = images.registry or images.mirrors or images.tag_suffix
    if not (moved or SOLVER in images.digests):
        return ""
    release = version.partition("-")[0]  # what follows names a build of the bundle
    return located(bundled or f"{_RELEASED}{SOLVER}:{release}", images, SOLVER)


def _general(images: Images) -> Iterator[Problem]:
    """Yield what is wrong for all components at once."""
    digests = re.compile(_DIGEST)
    for name, digest in sorted(images.digests.items()):
        if name not in {*Component, SOLVER}:
            known = ", ".join([*Component, SOLVER])
            yield _wrong(f"digests: there is no image {name!r}; use {known}", "digests")
        elif not digests.fullmatch(digest):
            yield _wrong(f"digests: {digest[:80]!r} is no digest such as sha256:…", "digests")
    prefixes = [images.registry, *images.mirrors, *images.mirrors.values()]
    for prefix in filter(None, prefixes):
        if not _PREFIX.fullmatch(prefix.rstrip("/")):
            yield _wrong(f"{prefix[:80]!r} is no registry such as mirror.example.com/jetstack")
    if images.pull_policy not in _POLICIES:
        yield _wrong(f"pull policy {images.pull_policy[:80]!r}: use Always, IfNotPresent or Never")


def _wrong(message: str, field: str = "images") -> Problem:
    return Problem(Reason.INVALID_IMAGE, None, message, field)


def _split(reference: str) -> tuple[str, str]:
    """Return the name of an image, and its tag with the colon; a digest is left out."""
    name = reference.partition("@")[0]
    at = name.rfind(":")
    return (name, "") if at < name.rfind("/") or at < 0 else (name[:at], name[at:])


def _mirrored(name: str, mirrors: Mapping[str, str]) -> str:
    """Replace the longest prefix that has a mirror; prefixes end where a part of a path does."""
    fitting = [
        prefix
        for prefix in mirrors
        if name == prefix.rstrip("/") or name.startswith(f"{prefix.rstrip('/')}/")
    ]
    if not fitting:
        return name
    prefix = max(fitting, key=len)
    return f"{mirrors[prefix].rstrip('/')}{name.removeprefix(prefix.rstrip('/'))}"
