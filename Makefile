# SPDX-License-Identifier: Apache-2.0
# The commands of this repository. Everything is installed into .venv and its like, nothing elsewhere.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
FRAMEWORKS := .venv-frameworks
TRACKERS := .venv-trackers
VERTEX := .venv-vertex
SOURCES := pyproject.toml CMakeLists.txt $(shell find native/core native/bind -name '*.?pp')

# Tests start processes by the hundred, each of which would compile every module anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: setup page run test test-times test-sanitized test-frameworks test-trackers test-cluster test-vertex test-image test-compose test-servers frameworks-table check lint openapi fmt bench bench-writing bench-reading bench-metrics bench-integrations bench-stores bench-page soak clean

setup: $(VENV)/.installed  ## the environment of everyday work

# scikit-build-core and nanobind stand in the environment, so that a rebuild of the extension is quick, and other environments
# get what was built here. uv takes a fraction of pip's time.
$(VENV)/.installed: $(SOURCES)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --group installer
	$(BIN)/uv pip install --quiet --python $(BIN)/python --group build --group native --group test --group check
	scripts/build-editable
	$(BIN)/uv pip install --quiet --python $(BIN)/python --reinstall-package aboard "$$(echo build/editable/*.whl)[server,docker,kubernetes]"
	touch $@

# The page is built with npm, apart from the Python package: a wheel carries what is built.
PAGE := src/aboard/server/_web/.built
PAGE_SOURCES := $(shell find web -path web/node_modules -prune -o -type f -print)

page: $(PAGE)  ## the page, built into the package

$(PAGE): $(PAGE_SOURCES) $(VENV)/.installed
	scripts/build-page
	touch $@

# A home of its own: nobody's runs are mixed with the samples.
run: export ABOARD_HOME := $(CURDIR)/runs/home
run: setup page  ## sample runs, and a server whose page and boards show them
	test -d runs/demo || $(BIN)/aboard demo runs/demo
	$(BIN)/aboard sync runs/demo $(ABOARD_HOME)/store
	$(BIN)/aboard server

# Three servers at once take both cores for themselves: `make test-servers` has them, and what one server promises on PostgreSQL.
SEVERAL_SERVERS := tests/integration/test_several_servers.py tests/integration/test_gone_servers.py
OF_SERVERS := $(addprefix test_server_,boards events runs selections series)

# Services are fetched while the core is compiled. Four processes on two cores: with five or six it takes as long, and more tests run into time limits.
test: setup page  ## everything that needs no machine-learning framework
	scripts/ensure-services chromium chromium-shell postgres nginx azurite oidc-provider & services=$$!; \
	  scripts/run-in-web test && scripts/test-native plain && wait $$services
	$(BIN)/python -m pytest --numprocesses 4 --dist loadfile --no-loadscope-reorder $(addprefix --ignore ,$(SEVERAL_SERVERS)) \
	  -k 'not (postgresql and ($(subst $() , or ,$(OF_SERVERS))))'

test-times: setup  ## the 30 slowest test files, tests and fixtures of the last runs
	$(BIN)/python tests/support/test_times.py

test-sanitized: setup  ## the C++ core under the address, undefined-behaviour and thread sanitizers
	scripts/test-native sanitized
	scripts/test-native thread

# torch comes first and alone: its CPU build satisfies what the others ask for, which uv finds out in a fraction of pip's time.
$(FRAMEWORKS)/.installed: $(VENV)/.installed
	test -x $(FRAMEWORKS)/bin/python || $(PYTHON) -m venv $(FRAMEWORKS)
	$(FRAMEWORKS)/bin/python -m pip install --quiet --upgrade pip
	$(FRAMEWORKS)/bin/python -m pip install --quiet --group installer
	$(FRAMEWORKS)/bin/python -m pip install --quiet --no-compile --group torch
	$(FRAMEWORKS)/bin/uv pip install --quiet --python $(FRAMEWORKS)/bin/python --group test --group frameworks
	$(FRAMEWORKS)/bin/uv pip install --quiet --python $(FRAMEWORKS)/bin/python --reinstall-package aboard "$$(echo build/editable/*.whl)[server]"
	touch $@

# What stands still for the network leaves the processor to the tests of trackers.
test-frameworks: setup  ## every framework that is integrated, in an environment of their own
	$(MAKE) --jobs 2 $(FRAMEWORKS)/.installed test-trackers
	$(FRAMEWORKS)/bin/python -m pytest tests/frameworks --numprocesses 2 --dist loadfile

frameworks-table: $(FRAMEWORKS)/.installed  ## docs/frameworks.md anew, from the tests that pass
	$(FRAMEWORKS)/bin/python -m pytest tests/frameworks -m framework --framework-table docs/frameworks.md

# Google's library brings 200 MB that nothing else needs: it stands in an environment of its own, which sees the everyday one.
$(VERTEX)/.installed: $(VENV)/.installed
	test -x $(VERTEX)/bin/python || $(PYTHON) -m venv $(VERTEX)
	$(VERTEX)/bin/python -m pip install --quiet --upgrade pip
	$(VERTEX)/bin/python -m pip install --quiet --group installer
	$(VERTEX)/bin/uv pip install --quiet --python $(VERTEX)/bin/python --group vertex
	everyday=$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))'); \
	own=$$($(VERTEX)/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))'); \
	echo "import site; site.addsitedir('$$everyday')" > "$$own/everyday.pth"
	touch $@

test-vertex: $(VERTEX)/.installed  ## the executor for Vertex AI by Google's own library, against a server at the HTTP level
	EXECUTORS_UNDER_TEST=vertex $(VERTEX)/bin/python -m pytest -rs tests/vertex tests/contract/test_executors.py

# The daemons come from Debian when root may install them; without root the tests say what they leave out.
test-cluster: setup  ## executors on a real sshd, Docker daemon and Slurm, on Kubernetes and Vertex at the HTTP level; three servers as one
	scripts/ensure-services cluster postgres
	scripts/test-cluster
	$(MAKE) test-vertex test-servers

test-image:  ## the image of deploy/Dockerfile, built and tried by the Docker daemon that is there
	scripts/test-image

test-compose: setup  ## deploy/compose.yaml: up, a run into the bucket, a board, down and up again, by the Docker that is there
	scripts/test-compose

# What one server promises, of three over one PostgreSQL; two at a time, and leases of seconds by themselves, so that nobody waits for a processor in vain.
test-servers: setup  ## runs, boards, series and live updates through three servers that take turns; three processes, killed and gone on
	scripts/ensure-services postgres
	SERVERS_UNDER_TEST=3 $(BIN)/python -m pytest --numprocesses 2 -k 'postgresql or several_servers' tests/integration/test_several_servers.py \
	  $(patsubst %,tests/contract/%.py,$(OF_SERVERS))
	$(BIN)/python -m pytest tests/integration/test_gone_servers.py

check: lint test-sanitized  ## what can be found wrong with the code whatever it is meant to do

lint: setup page  ## linters, types, layers, formatting
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/clang-format --dry-run --Werror $$(find native -name '*.?pp')
	$(BIN)/hadolint deploy/Dockerfile
	$(BIN)/lint-imports
	$(BIN)/pyright
	$(BIN)/python scripts/write_openapi.py --check
	scripts/run-in-web check

openapi: setup  ## docs/openapi.json, the document of the API
	$(BIN)/python scripts/write_openapi.py
	scripts/run-in-web types

fmt: setup page
	$(BIN)/ruff check --fix --quiet || true
	$(BIN)/ruff format --quiet
	$(BIN)/clang-format -i $$(find native -name '*.?pp')
	scripts/run-in-web fmt

bench: bench-writing bench-reading bench-metrics bench-stores  ## side by side with the peers; prints the tables of benchmarks/README.md

bench-writing: $(FRAMEWORKS)/.installed  ## SummaryWriter beside those of torch and tensorboardX
	$(FRAMEWORKS)/bin/python benchmarks/writer.py

# In the everyday environment: with TensorFlow installed stock TensorBoard would start slower and be larger.
bench-reading: setup  ## reading and boards beside stock TensorBoard
	$(BIN)/python benchmarks/reading.py

# Other trackers, for a benchmark and for taking over their runs: never in the environment of the other tests.
$(TRACKERS)/.installed: $(VENV)/.installed
	test -x $(TRACKERS)/bin/python || $(PYTHON) -m venv $(TRACKERS)
	$(TRACKERS)/bin/python -m pip install --quiet --upgrade pip
	$(TRACKERS)/bin/python -m pip install --quiet --group installer
	$(TRACKERS)/bin/uv pip install --quiet --python $(TRACKERS)/bin/python --group trackers --group tracker-tests
	$(TRACKERS)/bin/uv pip install --quiet --python $(TRACKERS)/bin/python --reinstall-package aboard build/editable/*.whl
	touch $@

test-trackers: $(TRACKERS)/.installed  ## runs of wandb, MLflow, Trackio and Aim, made and read with their own libraries
	$(TRACKERS)/bin/python -m pytest tests/trackers

bench-metrics: $(TRACKERS)/.installed  ## Run.log_metrics beside MLflow's and wandb's
	$(TRACKERS)/bin/python benchmarks/run_logging.py

bench-integrations: $(FRAMEWORKS)/.installed  ## what each integration costs a training step
	$(FRAMEWORKS)/bin/python benchmarks/integrations.py

bench-stores: setup  ## reading runs from an S3 server beside download and stock TensorBoard
	$(BIN)/python benchmarks/store_reading.py

bench-page: setup page  ## the page beside stock TensorBoard's Time Series, in a browser
	scripts/ensure-services chromium
	$(BIN)/python benchmarks/page.py

soak: setup  ## long runs: ten million points by threads and processes, and an hour of fuzzing in minutes
	$(BIN)/python -m pytest tests/soak --timeout=1800
	scripts/test-native fuzz $${FUZZ_SECONDS:-300}

clean:
	rm -rf build $(VENV) $(FRAMEWORKS) $(TRACKERS) $(VERTEX)
