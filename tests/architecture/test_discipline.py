"""Calls that are allowed in few places, and sizes that keep files readable."""

import ast

LONGEST_FILE = 400

CLOCK_MODULES = {"certwright.clock"}
RANDOM_MODULES = {"certwright.runtime.queue.backoff"}
BROAD_EXCEPT = {
    # the boundaries at which somebody else's code must not end the process
    "certwright.runtime.queue.workers",
    "certwright.runtime.cache.entries",
    "certwright.runtime.cache.decode",
    "certwright.cli.main",
}


def calls(module):
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func), node.lineno


def test_files_are_short(modules):
    long = [
        f"{module.where}: {lines} lines"
        for module in modules
        if (lines := len(module.path.read_text("utf-8").splitlines())) > LONGEST_FILE
    ]
    assert not long, "\n".join(long)


def test_only_the_clock_knows_the_time(modules):
    banned = {
        "datetime.now", "datetime.utcnow", "datetime.today", "date.today",
        "time.time", "time.monotonic", "time.perf_counter", "time.sleep",
    }  # fmt: skip
    wrong = [
        f"{module.where}:{line}: {name}()"
        for module in modules
        if module.name not in CLOCK_MODULES
        for name, line in calls(module)
        if name in banned
    ]
    assert not wrong, "\n".join(wrong)


def test_randomness_is_injected(modules):
    wrong = [
        f"{module.where}:{line}: imports {name}"
        for module in modules
        if module.layer not in {"apiserver", "testkit"} and module.name not in RANDOM_MODULES
        for name, line in module.imports()
        if name == "random"
    ]
    assert not wrong, "\n".join(wrong)


def test_every_task_has_a_parent(modules):
    wrong = [
        f"{module.where}:{line}: {name}()"
        for module in modules
        for name, line in calls(module)
        if name in {"asyncio.create_task", "asyncio.ensure_future"} or name == "loop.create_task"
    ]
    assert not wrong, "\n".join(wrong)


def test_broad_excepts_stand_at_the_boundaries_only(modules):
    wrong = []
    for module in modules:
        if module.name in BROAD_EXCEPT:
            continue
        for node in ast.walk(module.tree):
            if not isinstance(node, ast.ExceptHandler):
                continue
            caught = ast.unparse(node.type) if node.type else "everything"
            reraises = any(isinstance(inner, ast.Raise) for inner in ast.walk(node))
            if caught in {"everything", "Exception", "BaseException"} and not reraises:
                wrong.append(f"{module.where}:{node.lineno}: except {caught}")
    assert not wrong, "\n".join(wrong)


def test_no_star_imports(modules):
    wrong = [
        f"{module.where}:{node.lineno}"
        for module in modules
        for node in ast.walk(module.tree)
        if isinstance(node, ast.ImportFrom) and any(alias.name == "*" for alias in node.names)
    ]
    assert not wrong, "\n".join(wrong)
