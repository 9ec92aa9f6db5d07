# SPDX-License-Identifier: Apache-2.0
# The commands of this repository; `make help` lists them. Everything is installed into .venv and its like, nothing elsewhere.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
FRAMEWORKS := .venv-frameworks
TRACKERS := .venv-trackers
VERTEX := .venv-vertex
SOURCES := pyproject.toml locks/everyday.txt CMakeLists.txt $(shell find native/core native/bind -name '*.?pp')
PYTEST := $(BIN)/python -m pytest

# Tests start hundreds of processes, each of which would compile every module again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help
help:  ## List these commands
	@awk -F ':.*## ' '/^## /{print "\n" substr($$0, 4)} /^[a-z-]+:.*## /{printf "  %-20s %s\n", $$1, $$2}' Makefile

## Everyday work

.PHONY: setup page run test-unit test test-web test-native test-python lint fmt lock openapi stub clean

setup: $(VENV)/.installed  ## Install the everyday environment into .venv

# scikit-build-core and nanobind stand in the environment: a rebuild of the extension is quick, and the other environments
# install the wheel that was built here. uv takes a fraction of pip's time.
$(VENV)/.installed: $(SOURCES)
	@echo "Installing $$(wc -l < locks/everyday.txt) Python packages (locks/everyday.txt) into $(VENV), then building the C++ core."
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --group installer
	$(BIN)/uv pip install --quiet --python $(BIN)/python --requirements locks/everyday.txt
	scripts/build-editable
	$(BIN)/uv pip install --quiet --python $(BIN)/python --reinstall --no-deps build/editable/*.whl
	touch $@

# npm builds the page apart from the Python package: a wheel carries the built page.
PAGE := src/aboard/server/_web/.built
PAGE_SOURCES := $(shell find web -path web/node_modules -prune -o -type f -print)

page: $(PAGE)  ## Build the page into the package

$(PAGE): $(PAGE_SOURCES) $(VENV)/.installed
	scripts/build-page
	touch $@

# ABOARD_HOME is a folder of this checkout: your own runs are not mixed with the samples.
run: export ABOARD_HOME := $(CURDIR)/runs/home
run: setup page  ## Make sample runs and start a server that shows them
	test -d runs/demo || $(BIN)/aboard demo runs/demo
	$(BIN)/aboard sync runs/demo $(ABOARD_HOME)/store
	$(BIN)/aboard server

test-unit: setup  ## Test without processes, sockets or a browser: half a minute
	$(PYTEST) tests/unit --numprocesses 2 --dist loadfile

test: setup page  ## Test everything that needs no ML framework: Python, C++, the page, real services
	scripts/ensure-services chromium chromium-shell postgres nginx azurite oidc-provider
	$(BIN)/python scripts/run_targets.py test-native,test-web test-python

test-python: setup page
	$(PYTEST) --numprocesses 4 --dist loadfile --no-loadscope-reorder

test-web: setup
	scripts/run-in-web test

test-native: setup
	scripts/test-native plain

lint: setup page  ## Check style, types, layers and generated files
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/clang-format --dry-run --Werror $$(find native -name '*.?pp')
	$(BIN)/hadolint deploy/Dockerfile
	$(BIN)/lint-imports
	$(BIN)/pyright
	$(BIN)/pyright --project tests
	$(BIN)/python scripts/write_openapi.py --check
	$(BIN)/python scripts/write_native_stub.py --check
	scripts/lock --check
	git apply --check tests/mutations/*.patch
	scripts/run-in-web check

fmt: setup page  ## Format the code
	$(BIN)/ruff check --fix --quiet || true
	$(BIN)/ruff format --quiet
	$(BIN)/clang-format -i $$(find native -name '*.?pp')
	scripts/run-in-web fmt

lock: setup  ## Update locks/ after a change of bounds in pyproject.toml (all versions: scripts/lock --upgrade)
	scripts/lock

openapi: setup  ## Write docs/openapi.json and the page's types from the API
	$(BIN)/python scripts/write_openapi.py
	scripts/run-in-web types

stub: setup  ## Write the type stub of the C++ extension from native/bind
	$(BIN)/python scripts/write_native_stub.py

clean:  ## Remove builds and environments
	rm -rf build $(VENV) $(FRAMEWORKS) $(TRACKERS) $(VERTEX)

## Tests

.PHONY: ci check test-sanitized test-frameworks test-trackers test-cluster test-vertex test-servers test-image test-compose test-times test-flaky test-mutations coverage soak frameworks-table

ci: setup page  ## Run what CI runs: check test test-frameworks test-cluster, side by side
	$(BIN)/python scripts/run_targets.py check,test test-frameworks,test-cluster

check: lint test-sanitized  ## Lint, and test the C++ core under sanitizers

test-sanitized: setup  ## Test the C++ core under the address, undefined-behaviour and thread sanitizers
	scripts/test-native sanitized thread

# torch comes first and with pip: its CPU build satisfies what the lock file asks for.
$(FRAMEWORKS)/.installed: $(VENV)/.installed locks/frameworks.txt
	test -x $(FRAMEWORKS)/bin/python || $(PYTHON) -m venv $(FRAMEWORKS)
	$(FRAMEWORKS)/bin/python -m pip install --quiet --upgrade pip
	$(FRAMEWORKS)/bin/python -m pip install --quiet --group installer
	$(FRAMEWORKS)/bin/python -m pip install --quiet --no-compile --group torch
	$(FRAMEWORKS)/bin/uv pip install --quiet --python $(FRAMEWORKS)/bin/python --requirements locks/frameworks.txt
	$(FRAMEWORKS)/bin/uv pip install --quiet --python $(FRAMEWORKS)/bin/python --reinstall --no-deps build/editable/*.whl
	touch $@

# The installation waits for the network and leaves the processor to the tests of trackers.
test-frameworks: setup  ## Test every integrated framework, and the import from other trackers
	$(MAKE) --jobs 2 $(FRAMEWORKS)/.installed test-trackers
	$(FRAMEWORKS)/bin/python -m pytest tests/frameworks --numprocesses 2 --dist loadfile

frameworks-table: $(FRAMEWORKS)/.installed  ## Write docs/frameworks.md from the tests that pass
	$(FRAMEWORKS)/bin/python -m pytest tests/frameworks -m framework --framework-table docs/frameworks.md

# Other trackers stand in an environment of their own: their dependencies conflict with the everyday ones.
$(TRACKERS)/.installed: $(VENV)/.installed locks/trackers.txt
	test -x $(TRACKERS)/bin/python || $(PYTHON) -m venv $(TRACKERS)
	$(TRACKERS)/bin/python -m pip install --quiet --upgrade pip
	$(TRACKERS)/bin/python -m pip install --quiet --group installer
	$(TRACKERS)/bin/uv pip install --quiet --python $(TRACKERS)/bin/python --requirements locks/trackers.txt
	$(TRACKERS)/bin/uv pip install --quiet --python $(TRACKERS)/bin/python --reinstall --no-deps build/editable/*.whl
	touch $@

test-trackers: $(TRACKERS)/.installed  ## Import runs of wandb, MLflow, Trackio and Aim, made with their own libraries
	$(TRACKERS)/bin/python -m pytest tests/trackers

# Google's library brings 200 MB that nothing else needs: it stands in an environment of its own, which sees the everyday one.
$(VERTEX)/.installed: $(VENV)/.installed locks/vertex.txt
	test -x $(VERTEX)/bin/python || $(PYTHON) -m venv $(VERTEX)
	$(VERTEX)/bin/python -m pip install --quiet --upgrade pip
	$(VERTEX)/bin/python -m pip install --quiet --group installer
	$(VERTEX)/bin/uv pip install --quiet --python $(VERTEX)/bin/python --requirements locks/vertex.txt
	everyday=$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))'); \
	own=$$($(VERTEX)/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))'); \
	echo "import site; site.addsitedir('$$everyday')" > "$$own/everyday.pth"
	touch $@

test-vertex: $(VERTEX)/.installed  ## Test the executor for Vertex AI with Google's own library, against a server at the HTTP level
	EXECUTORS_UNDER_TEST=vertex $(VERTEX)/bin/python -m pytest -rs tests/vertex tests/contract/test_executors.py

# The daemons come from Debian when root may install them; without root the tests report what they leave out.
test-cluster: setup  ## Test executors on a real sshd, Docker and Slurm, on Kubernetes and Vertex at the HTTP level; three servers as one
	scripts/ensure-services cluster postgres
	scripts/test-cluster
	$(MAKE) test-vertex test-servers

# Two at a time; leases of seconds are tested alone, because a server that waits for a processor loses them.
test-servers: setup  ## Test runs, boards and selections with three servers over one PostgreSQL
	scripts/ensure-services postgres
	SERVERS_UNDER_TEST=3 $(PYTEST) --numprocesses 2 tests/servers/test_several_servers.py \
	  $(patsubst %,tests/contract/test_server_%.py,boards runs selections)
	$(PYTEST) tests/servers/test_gone_servers.py

test-image:  ## Build deploy/Dockerfile with the local Docker daemon and try the image
	scripts/test-image

test-compose: setup  ## Try deploy/compose.yaml with the local Docker daemon
	scripts/test-compose

test-times: setup  ## Print the 30 slowest test files, tests and fixtures of the last runs
	$(BIN)/python tests/support/test_times.py

test-flaky: setup  ## Repeat tests under load: make test-flaky FILE=tests/… [COUNT=50]
	$(BIN)/python scripts/repeat_tests.py $(or $(COUNT),50) $(FILE)

coverage: setup page  ## Measure which lines of src and native/core the tests of `make test` run
	rm -rf build/coverage && mkdir -p build/coverage
	$(BIN)/coverage run -m pytest --numprocesses 4 --dist loadfile --no-loadscope-reorder
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report --skip-covered --sort=miss
	scripts/test-native coverage

test-mutations: setup page  ## Plant the 30 bugs of tests/mutations one at a time; each must fail a test
	scripts/ensure-services chromium-shell postgres
	scripts/test-mutations

soak: setup  ## Long runs: ten million points, repeated kills and network cuts, minutes of fuzzing
	HYPOTHESIS_PROFILE=soak $(PYTEST) tests/soak --timeout=1800
	HYPOTHESIS_PROFILE=soak $(PYTEST) tests/unit tests/contract -m hypothesis --numprocesses 2 --timeout=1800
	scripts/test-native soak
	scripts/test-native fuzz $${FUZZ_SECONDS:-300}

## Benchmarks

.PHONY: bench bench-writing bench-reading bench-metrics bench-integrations bench-stores bench-page

bench: bench-writing bench-reading bench-metrics bench-stores  ## Compare with the peers; prints the tables of benchmarks/README.md

bench-writing: $(FRAMEWORKS)/.installed  ## SummaryWriter beside those of torch and tensorboardX
	$(FRAMEWORKS)/bin/python benchmarks/writer.py

# In the everyday environment: with TensorFlow installed stock TensorBoard would start slower and be larger.
bench-reading: setup  ## Reading and boards beside stock TensorBoard
	$(BIN)/python benchmarks/reading.py

bench-metrics: $(TRACKERS)/.installed  ## Run.log_metrics beside MLflow's and wandb's
	$(TRACKERS)/bin/python benchmarks/run_logging.py

bench-integrations: $(FRAMEWORKS)/.installed  ## The cost of each integration per training step
	$(FRAMEWORKS)/bin/python benchmarks/integrations.py

bench-stores: setup  ## Reading runs from an S3 server beside download and stock TensorBoard
	$(BIN)/python benchmarks/store_reading.py

bench-page: setup page  ## The page beside stock TensorBoard's Time Series, in a browser
	scripts/ensure-services chromium
	$(BIN)/python benchmarks/page.py
