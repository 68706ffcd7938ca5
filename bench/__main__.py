"""``python -m bench``: run benchmarks, print tables and a line of JSON each."""

import argparse
import json
from datetime import UTC, datetime
from pathlib import Path

from bench import machine, report
from bench.suite import BENCHMARKS
from certwright.runtime import configure_logs


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(BENCHMARKS))
    parser.add_argument("--quick", action="store_true", help="one run instead of three")
    parser.add_argument("--json", type=Path, metavar="FILE", help="append the JSON lines here")
    parser.add_argument(
        "--report", type=Path, metavar="FILE", help="write the report here, or these parts of it"
    )
    options = parser.parse_args()
    if unknown := set(options.names) - set(BENCHMARKS):
        parser.error(
            f"no benchmark {', '.join(sorted(unknown))}; there are {', '.join(BENCHMARKS)}"
        )
    configure_logs(level="warning")
    where = machine.describe()
    print(json.dumps(where))
    results = []
    for name in options.names or BENCHMARKS:
        result = BENCHMARKS[name](1 if options.quick else 3)
        results.append(result)
        line = json.dumps(result.as_json(where), ensure_ascii=False)
        print(report.as_text(result))
        print(line, flush=True)
        if options.json:
            with options.json.open("a", encoding="utf-8") as file:
                file.write(line + "\n")
    if options.report:
        date = datetime.now(UTC).date().isoformat()
        earlier = options.report.read_text("utf-8") if options.report.exists() else ""
        if options.names and earlier:
            text = report.with_results(earlier, results, where, date)
        else:
            text = report.with_sections_of(earlier, report.as_markdown(results, where, date))
        options.report.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
