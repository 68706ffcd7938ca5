import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from certwright import __version__
from certwright.cli import start
from certwright.cli.main import main

GREETING = str(Path(__file__).parents[3] / "examples" / "greeting.py")


@pytest.fixture
def certwright(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Callable[..., Any]]:
    """Run the command line in this process; return its exit code, output and complaints."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    modules = set(sys.modules)

    def run(*words: str) -> tuple[Any, str, str]:
        monkeypatch.setattr(sys, "argv", ["certwright", *words])
        code: Any = 0
        try:
            main()
        except SystemExit as exit_:
            code = exit_.code or 0
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    yield run
    for name in {"greeting", "controllers_greeting"} - modules:
        sys.modules.pop(name, None)


def test_the_version(certwright: Callable[..., Any]) -> None:
    assert certwright("version") == (0, f"{__version__}\n", "")


COMMANDS = [
    "up", "run", "crds", "rbac", "apply", "diff", "delete", "tree", "gc", "unique", "alerts",
    "mr list", "mr explain", "mr diff", "mr force-delete",
    "bundle build", "bundle import", "bundle list", "bundle show", "bundle diff", "bundle images",
    "bundle publish",
]  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS)
def test_help_ends_with_examples_on_lines_of_their_own(
    certwright: Callable[..., Any], command: str
) -> None:
    code, out, _ = certwright(*command.split(), "--help")
    assert code == 0
    examples = out.partition("\n  Examples:\n")[2].splitlines()
    assert examples
    assert all(line.startswith("    ") for line in examples)
    assert any(f"certwright {command} " in line for line in examples)


@pytest.mark.parametrize("group", ["", "mr", "cert"])
def test_no_command_is_explained_by_half_a_sentence(
    certwright: Callable[..., Any], group: str
) -> None:
    code, out, _ = certwright(*group.split(), "--help")
    commands = out.partition("\nCommands:\n")[2].splitlines()
    assert (code, commands != []) == (0, True)
    assert [line for line in commands if not line.endswith(".") or line.endswith("...")] == []


def test_the_resource_manager_explains_itself(certwright: Callable[..., Any]) -> None:
    code, out, _ = certwright("resource-manager", "--help")
    assert code == 0
    assert "certwright resource-manager --config config.yaml" in out
    assert "--garbage-collector-sync-period" in out
    assert certwright("resource-manager", "--version") == (0, f"{__version__}\n", "")


def test_nothing_typed_is_a_question(certwright: Callable[..., Any]) -> None:
    code, out, err = certwright()
    assert code == 2
    assert "Start an API server, controllers and samples" in out + err


def test_alerting_rules_are_printed(certwright: Callable[..., Any]) -> None:
    code, out, _ = certwright("alerts")
    assert code == 0
    assert [group["name"] for group in yaml.safe_load(out)["groups"]] == [
        "certwright-managed-resources",
        "certwright-issuers",
        "certwright-processes",
    ]


def test_crds_are_printed(certwright: Callable[..., Any]) -> None:
    code, out, _ = certwright("crds", GREETING)
    assert code == 0
    (crd,) = yaml.safe_load_all(out)
    assert crd["metadata"]["name"] == "greetings.demo.certwright.dev"


class Interrupted:
    """A person who presses Ctrl-C while a module is imported."""

    def find_spec(self, name: str, *_: object) -> None:
        if name == "certwright.cli.main":
            raise KeyboardInterrupt


def test_ctrl_c_while_the_command_line_is_imported_is_quiet(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delitem(sys.modules, "certwright.cli.main")
    monkeypatch.setattr(sys, "meta_path", [Interrupted(), *sys.meta_path])
    with pytest.raises(SystemExit) as ended:
        start.main()
    assert ended.value.code == 130


def test_an_operator_without_kinds_of_its_own(certwright: Callable[..., Any]) -> None:
    told = "no kinds of their own, so nothing is to be installed\n"
    assert certwright("crds", "rollout") == (0, "", told)


def test_roles_are_printed(certwright: Callable[..., Any]) -> None:
    code, out, _ = certwright("rbac", GREETING, "--name", "greeting")
    assert code == 0
    role = yaml.safe_load(out)
    assert (role["kind"], role["metadata"]["name"]) == ("ClusterRole", "greeting")
    assert {"greetings", "configmaps"} <= {r for rule in role["rules"] for r in rule["resources"]}


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["crds", "nowhere.py"], "error: there is no file nowhere.py\n"),
        (["run", GREETING, "--log-level", "loud"], "error: --log-level loud: choose debug, info, warning, error\n"),
        (["run", GREETING, "--log-format", "xml"], "error: --log-format xml: choose text, json or auto\n"),
        (["run", GREETING, "--leader-elect", "me"], "error: --leader-elect me: give the Lease as NAMESPACE/NAME\n"),
        (["run", GREETING, "--leader-elect", "a/b/c"], "error: --leader-elect a/b/c: give the Lease as NAMESPACE/NAME\n"),
        (["run", GREETING, "--probes", "here"], "error: --probes: 'here' is not an address such as :8081 or 127.0.0.1:8081\n"),
        (["up", "--samples", "a.yaml", "--no-samples"], "error: --samples and --no-samples exclude each other; drop one of them\n"),
    ],
)  # fmt: skip
def test_a_mistake_is_one_line(
    certwright: Callable[..., Any], words: list[str], complaint: str
) -> None:
    assert certwright(*words) == (2, "", complaint)


def test_unknown_options_are_refused(certwright: Callable[..., Any]) -> None:
    code, _, err = certwright("up", "--reel")
    assert code == 2
    assert "No such option: --reel" in err


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("a: [", "not valid YAML in line 2"),
        ("{}", "no current-context is set"),
        ("{current-context: x}", "context 'x'"),
    ],
)
def test_a_malformed_kubeconfig_is_named(
    certwright: Callable[..., Any], tmp_path: Path, content: str, complaint: str
) -> None:
    path = tmp_path / "kubeconfig"
    path.write_text(content + "\n", "utf-8")
    code, _, err = certwright("run", GREETING, "--kubeconfig", str(path))
    assert code == 2
    assert err.startswith(f"error: {path}")
    assert complaint in err
    assert err.count("\n") == 1


def test_a_kubeconfig_that_is_not_there_is_named(
    certwright: Callable[..., Any], tmp_path: Path
) -> None:
    code, _, err = certwright("run", GREETING, "--kubeconfig", str(tmp_path / "none"))
    assert (code, err.count("\n")) == (2, 1)
    assert str(tmp_path / "none") in err


def test_a_missing_dependency_says_what_to_install() -> None:
    code = "import sys; sys.modules['typer'] = None; import certwright.cli.main"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.endswith("pip install 'certwright[cli]'\n")
    assert "Traceback" not in done.stderr
