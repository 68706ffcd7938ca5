"""Results for people: tables on the terminal, and the same in Markdown."""

from collections.abc import Mapping, Sequence
from typing import Any

from bench.result import Bar, Figures, Result

COMPARISON = "## Compared with revision"
"""How the section begins that `bench.compare` writes."""
SOAK = "## Soak"
"""How the section begins that `bench.soak` writes."""
_LAST = "## Repeat it"


def table(subjects: Mapping[str, Figures]) -> list[list[str]]:
    """Return figures as rows, one per figure, a column per subject; the first row is the head."""
    names = list(dict.fromkeys(name for figures in subjects.values() for name in figures))
    head = ["", *subjects]
    return [head, *([name, *(_cell(f.get(name)) for f in subjects.values())] for name in names)]


def _cell(value: float | str | None) -> str:
    match value:
        case None:
            return "-"
        case str():
            return value
        case int():
            return f"{value:,}"
        case float() if abs(value) >= 100:
            return f"{value:,.0f}"
        case _:
            return f"{value:.3g}"


def as_text(result: Result) -> str:
    """Return a result for the terminal."""
    rows = table(result.subjects)
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = [f"\n{result.name}: median of {result.runs}"]
    for row in rows:
        first, *rest = (
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        lines.append("  " + "  ".join([first, *rest]))
    lines += [
        f"  {'met   ' if bar.met else 'MISSED'}  {bar.what}: {bar.measured} ({bar.bar})"
        for bar in result.bars
    ]
    return "\n".join(lines)


def as_markdown(results: Sequence[Result], machine: Mapping[str, Any], date: str) -> str:
    """Return the whole report."""
    packages = ", ".join(f"{name} {version}" for name, version in machine["packages"].items())
    lines = [
        "# Measurements",
        "",
        "Written by `make bench`, which repeats all of it; do not edit. The peers run in the same",
        "session on the same data, each subject in a process of its own. Times are processor",
        "seconds (user and system) of the subject's process, without start-up and imports.",
        "",
        f"- {date}; {machine['cpu']}, {machine['cores']} cores, {machine['memory_gib']} GiB,",
        f"  load average {machine['load']} at the start; {machine['system']}",
        f"- {machine['python']}; {packages}",
        "",
        "## Bars",
        "",
        *_rows(
            [
                ["what", "bar", "measured", ""],
                *(
                    [bar.what, bar.bar, bar.measured, "met" if bar.met else "**missed**"]
                    for result in results
                    for bar in result.bars
                ),
            ]
        ),
    ]
    for result in results:
        lines += ["", _result(result)]
    return "\n".join([*lines, "", _REPRODUCE])


def _result(result: Result, measured: str = "") -> str:
    how = f"Median of {result.runs} runs." if result.runs > 1 else "One run."
    caption = f"{result.compared} {how} {measured}".rstrip()
    return "\n".join([f"## {result.name}", "", caption, "", *_rows(table(result.subjects))])


def with_results(
    text: str, results: Sequence[Result], machine: Mapping[str, Any], date: str
) -> str:
    """Return a report with some results measured anew, and the others as they were."""
    measured = (
        f"Measured on {date}, load average {machine['load']} at the start, {machine['python']}."
    )
    for result in results:
        for bar in result.bars:
            text = _with_bar(text, bar)
        section = _result(result, measured) + "\n"
        if known := _section(text, f"## {result.name}\n"):
            text = text.replace(known, f"{section}\n", 1)
        else:
            before = next(each for each in (SOAK, COMPARISON, _LAST) if each in text)
            text = text.replace(before, f"{section}\n{before}", 1)
    return text


def _with_bar(text: str, bar: Bar) -> str:
    """Put a bar in place of the one of the same name, or after the last."""
    row = f"| {bar.what} | {bar.bar} | {bar.measured} | {'met' if bar.met else '**missed**'} |"
    head, heading, tail = text.partition("## Bars\n")
    bars, end, rest = tail.partition("\n\n## ")
    rows = bars.split("\n")
    places = [n for n, known in enumerate(rows) if known.startswith(f"| {bar.what} |")]
    if places:
        rows[places[0]] = row
    else:
        rows.append(row)
    return head + heading + "\n".join(rows) + end + rest


def comparison(
    results: Sequence[Result], revision: str, machine: Mapping[str, Any], date: str
) -> str:
    """Return the section about another revision."""
    rows = [["what", f"{revision}", "this", "", ""]]
    for result in results:
        before, now = result.subjects[revision], result.subjects["this"]
        for bar, figure in zip(result.bars, now, strict=True):
            cells = [_cell(before.get(figure)), _cell(now[figure]), bar.measured]
            rows.append([bar.what, *cells, "met" if bar.met else "**missed**"])
    runs = results[0].runs
    how = (
        f"Both checkouts in turns on one machine ({machine['cpu']}, {machine['cores']} cores,"
        f" load average {machine['load']} at the end), {date}; medians of {runs}. There have to"
        " be no more calls, and processor time and memory are to stay within 5 %; the processor"
        " time of creations, with API server and etcd, is to be at most 0.93 times as much."
    )
    return "\n".join([f"{COMPARISON} {revision}", "", how, "", *_rows(rows), ""])


def with_section(text: str, section: str) -> str:
    """Return a report with a section of another command, in place of the one it has."""
    heading = next(each for each in (SOAK, COMPARISON) if section.startswith(each))
    if known := _section(text, heading):
        text = text.replace(known, "", 1)
    head, _, tail = text.partition(_LAST)
    return f"{head}{section.rstrip()}\n\n{_LAST}{tail}"


def with_sections_of(earlier: str, text: str) -> str:
    """Return a new report that keeps what other commands wrote into an earlier one."""
    for heading in (SOAK, COMPARISON):
        if section := _section(earlier, heading):
            text = with_section(text, section)
    return text


def _section(text: str, heading: str) -> str:
    """Return a section with its heading, as far as the next one; empty if there is none."""
    _, found, rest = text.partition(heading)
    return found + rest.partition("\n## ")[0] + "\n" if found else ""


def series(caption: str, heading: str, rows: Sequence[Sequence[str]]) -> str:
    """Return a section with one table."""
    return "\n".join([heading, "", caption, "", *_rows(rows), ""])


def _rows(rows: Sequence[Sequence[str]]) -> list[str]:
    head, *body = (f"| {' | '.join(row)} |" for row in rows)
    rule = "|" + "|".join("---" if not column else "---:" for column in range(len(rows[0]))) + "|"
    return [head, rule, *body]


_REPRODUCE = """\
## Repeat it

```console
$ make bench                                  # everything; rewrites this file
$ make bench ARGS='list-watch --quick'        # one benchmark, one run, on the terminal only
$ make bench ARGS='idle --report bench/RESULTS.md'   # one benchmark, the rest stays
$ make bench ARGS='--json results.jsonl'      # a line of JSON per benchmark
$ make bench-compare REV=5016511              # this checkout against another revision, in turns
$ make soak ARGS='--minutes 30 --rate 50'     # memory of `certwright up` under random requests
```

The status writes need etcd and kube-apiserver, which are built once (minutes) and cached.
Processor time is steadier than wall time, but a busy machine still inflates it (caches, shared
cores): compare columns of one run, not runs of different days.
"""
