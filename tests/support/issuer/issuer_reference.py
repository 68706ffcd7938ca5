"""The tables of docs/reference/issuer.md that follow from the code.

``python -m tests.support.issuer.issuer_reference`` writes them; a test compares. They are read from
the sources: fields with the text below them, properties and methods with their docstring.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "reference" / "issuer.md"
SOURCES = ROOT / "src" / "certwright" / "issuer"
HIDDEN = {"group", "field_manager", "compatibility", "read_terms", "read_secret", "offload"}
HIDDEN |= {"made_for", "remark", "repaired"}
KIND_PARAMETERS = {
    "group": "The API group of the kinds, a domain of yours.",
    "kind": "The namespaced kind.",
    "spec": "A dataclass or msgspec Struct that becomes the schema.",
    "version": "The version of the API.",
    "namespaced": "Whether there is a namespaced kind.",
    "cluster": "Whether there is a cluster kind.",
    "cluster_kind": "Its name; DemoClusterIssuer for a DemoIssuer if not given.",
}
HOOKS = (
    *("check", "sign", "issuer", "ignore_request", "ignore_issuer", "classify_error"),
    *("on_startup", "on_shutdown"),
)


@dataclass(frozen=True)
class Member:
    """One attribute, property or method of a class."""

    name: str
    type: str
    default: str
    text: str


def class_in(module: str, name: str) -> ast.ClassDef:
    """Return the definition of a class."""
    tree = ast.parse((SOURCES / module).read_text("utf-8"))
    [found] = [one for one in tree.body if isinstance(one, ast.ClassDef) and one.name == name]
    return found


def members(defined: ast.ClassDef) -> Iterator[Member]:
    """Yield what users see of a class, in its order."""
    following = [*defined.body[1:], None]
    for node, after in zip(defined.body, following, strict=True):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            text = _literal(after)
            default = "" if node.value is None else _default(node.value)
            member = Member(node.target.id, ast.unparse(node.annotation), default, text)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            member = _method(node)
        else:
            continue
        if not member.name.startswith("_") and member.name not in HIDDEN:
            yield member


def _method(node: ast.FunctionDef | ast.AsyncFunctionDef) -> Member:
    marks = {ast.unparse(one) for one in node.decorator_list}
    given = ", ".join(one.arg for one in node.args.args if one.arg not in {"self", "cls"})
    result = ast.unparse(node.returns) if node.returns else ""
    is_attribute = bool(marks & {"property", "cached_property"})
    call = node.name if is_attribute else f"{node.name}({given})"
    if isinstance(node, ast.AsyncFunctionDef):
        call = f"await {call}"
    return Member(call, result.strip("'"), "", first_sentence(ast.get_docstring(node) or ""))


def _literal(node: ast.stmt | None) -> str:
    is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return first_sentence(str(node.value.value), whole=True) if is_text else ""  # type: ignore[union-attr]


def _default(value: ast.expr) -> str:
    text = ast.unparse(value)
    if text.startswith("field("):
        return "{}" if "dict" in text else ""
    return text


def first_sentence(text: str, *, whole: bool = False) -> str:
    """Return the first paragraph of a text in one line, as Markdown."""
    paragraph = " ".join((text if whole else text.partition("\n\n")[0]).split())
    paragraph = paragraph.replace("``", "`").replace("|", "\\|")
    return re.sub(r"\*(\w+)\*", r"`\1`", paragraph)


def tables() -> dict[str, str]:
    """Return the tables by the name that marks them on the page."""
    return {
        "parameters": _table("parameter", _parameters(), with_default=True),
        "hooks": _hooks(),
        "request": _table("`request.…`", members(class_in("request.py", "Request"))),
        "issuer": _table("`issuer.…`", members(class_in("issuer.py", "Issuer"))),
        "bundle": _table("`Bundle`", members(class_in("request.py", "Bundle"))),
        "http": _statuses(),
    }


def _parameters() -> Iterator[Member]:
    made = next(
        one
        for one in class_in("app.py", "IssuerApp").body
        if isinstance(one, ast.FunctionDef) and one.name == "__init__"
    )
    for argument, default in zip(made.args.kwonlyargs, made.args.kw_defaults, strict=True):
        assert argument.annotation is not None
        shown = "" if default is None else ast.unparse(default)
        text = KIND_PARAMETERS[argument.arg]
        yield Member(argument.arg, ast.unparse(argument.annotation), shown, text)
    settings = class_in("settings.py", "IssuerSettings")
    yield from (one for one in members(settings) if not one.name.endswith(")"))


def _hooks() -> str:
    lines = ["| decorator | |", "|---|---|"]
    found = {}
    for node in class_in("app.py", "IssuerApp").body:
        if isinstance(node, ast.FunctionDef) and (text := ast.get_docstring(node)):
            found[node.name] = first_sentence(text)
    lines += [f"| `@app.{name}` | {found[name]} |" for name in HOOKS]
    return "\n".join(lines)


def _statuses() -> str:
    tree = ast.parse((SOURCES / "sign" / "httperrors.py").read_text("utf-8"))
    by_verb: dict[str, list[int]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == "HTTP_VERBS":
            [mapping] = [one for one in ast.walk(node) if isinstance(one, ast.Dict)]
            for key, value in zip(mapping.keys, mapping.values, strict=True):
                assert isinstance(key, ast.Constant)
                assert isinstance(key.value, int)
                by_verb.setdefault(ast.unparse(value), []).append(key.value)
    rows = [f"| {', '.join(map(str, statuses))} | `{verb}` |" for verb, statuses in by_verb.items()]
    return "\n".join(
        ["| status | means |", "|---|---|", *rows, "| any other 4xx | `Permanent` |",
         "| any other 5xx | `Retry` |"]
    )  # fmt: skip


def _table(title: str, rows: Iterator[Member], *, with_default: bool = False) -> str:
    head = ["name" if title == "parameter" else title, "type"]
    head += ["default", ""] if with_default else [""]
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    for one in rows:
        cells = [f"`{one.name}`", f"`{one.type}`".replace("|", "\\|")]
        if with_default:
            cells.append(f"`{one.default}`" if one.default else "")
        lines.append(f"| {' | '.join([*cells, one.text])} |")
    return "\n".join(lines)


def written(page: str) -> str:
    """Return the page with all its tables as they should be."""
    for name, table in tables().items():
        begin, end = f"<!-- from the code: {name} -->", "<!-- end -->"
        before, found, rest = page.partition(begin)
        assert found, f"the page has no place for {name}"
        page = f"{before}{begin}\n{table}\n{end}{rest.partition(end)[2]}"
    return page


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text("utf-8")), "utf-8")
