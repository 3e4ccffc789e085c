# Every target makes and reuses .venv itself; all it needs is make and python3 >= 3.11.
#
#   make demo      a pause storm on a leaf-spine fabric: found, explained, mitigated; results in runs/demo
#   make test      the tests, without the slow ones
#   make test-slow the slow tests alone
#   make test-all  all tests
#   make playbooks every playbook with its healthy twin
#   make bench     packet-hops per second on this machine
#   make goldens   run the golden runs again, print what changed, and keep the results
#   make mutants   mutation test of chosen packages, with its scores in docs/mutation.md
#   make static    ruff check and format, mypy --strict
#   make check     as static, and import ladder, generated pages, locks, licences, images
#   make docs      the pages that are made from the code; says which changed
#   make site      the documentation as a site in site/, which is read without a network: open site/index.html
#   make lock      the lock files in lock/, from pyproject.toml; UPGRADE=1: with the newest versions
#   make figures   how each picture of the pages is made; make figures NAME=clos3.svg makes it again,
#                  NAME=--all all of them
#   make licences  docs/licences.md, from the locks and the packages' own metadata
#   make image-digests       pin the images of docker-compose.yml and deploy/Dockerfile by digest
#   make test-version-range  the engine's tests and the golden runs with the lowest and the highest Numba
#   make test-newest         make test with the oldest and with today's newest packages that are allowed; before a release
#   make check-stack         docker-compose.yml with real servers: every query of every dashboard; needs a docker engine
#   make clean     remove .venv and caches; runs/ is kept

PYTHON ?= python3
PYTEST_ARGS ?=
# Tests run in one process per processor; WORKERS=0: in one process, for a debugger.
WORKERS ?= $(shell getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1)
UPGRADE ?=
MUTATION_ARGS ?=
BIN := .venv/bin
READY := .venv/.ready
# What runs, without what tests and studies need: a quarter of the time and size. A full environment is used where it is.
RUNS := .venv/.runs
PIP := --quiet --disable-pip-version-check

.DELETE_ON_ERROR:
.PHONY: demo test test-slow test-all playbooks bench goldens mutants static check docs figures site lock licences image-digests test-version-range test-newest check-stack clean

demo: $(if $(wildcard $(READY)),$(READY),$(RUNS))
	rm -rf runs/demo
	$(BIN)/fabric playbook run pfc-storm --out runs/demo

test: $(READY)
	$(BIN)/python -m tools.suite fast --workers $(WORKERS) $(PYTEST_ARGS)

test-slow: $(READY)
	$(BIN)/python -m tools.suite slow --workers $(WORKERS) $(PYTEST_ARGS)

test-all: $(READY)
	$(BIN)/python -m tools.suite all --workers $(WORKERS) $(PYTEST_ARGS)

playbooks: $(READY)
	$(BIN)/fabric playbook check --all --workers $(WORKERS)

bench: $(READY)
	$(BIN)/python -m bench

goldens: $(READY)
	$(BIN)/python -m tests.goldens

mutants: $(READY)
	$(BIN)/python -m tests.mutation --write docs/mutation.md $(MUTATION_ARGS)

static: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check --quiet .
	$(BIN)/mypy --strict

check: static
	$(BIN)/python -m pytest -q tests/test_layering.py tests/test_supply_chain.py tests/test_pages.py

docs: $(READY)
	$(BIN)/python -m tools.pages

figures: $(READY)
	$(BIN)/python -m tools.figures $(NAME)

site: $(READY)
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

lock: $(READY)
	$(BIN)/python -m tools.lock $(if $(UPGRADE),--upgrade)

licences: $(READY)
	$(BIN)/python -m tools.licences

image-digests: $(READY)
	$(BIN)/python -m tools.images --pin

check-stack: $(if $(wildcard $(READY)),$(READY),$(RUNS))
	$(BIN)/python deploy/check_stack.py

test-version-range: $(READY)
	$(BIN)/python -m tools.version_range

test-newest: $(READY)
	$(BIN)/python -m tools.version_range --whole --end lowest --end newest

clean:
	rm -rf .venv .venv-range .pytest_cache .mypy_cache .ruff_cache .hypothesis .mutation build dist
	find fabric telemetry playbooks tests -name __pycache__ -type d -exec rm -rf {} +

# The stamp, not the folder: an interrupted install is repeated. Every package is installed by its hash in the lock
# (--no-deps: the lock is complete, and a resolver may consider other versions), by uv, which takes a fifth of pip's
# time (docs/decisions/0106). This project is built with the installed backend, so that the build downloads nothing.
$(READY): pyproject.toml lock/uv.txt lock/dev.txt
	$(call environment,lock/dev.txt)
	@touch $@

$(RUNS): pyproject.toml lock/uv.txt lock/runtime.txt lock/build.txt
	$(call environment,lock/runtime.txt lock/build.txt)
	@touch $@

define environment
	@command -v $(PYTHON) >/dev/null || { echo "error: no '$(PYTHON)' here; install Python 3.11 or newer" >&2; exit 2; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "error: $$($(PYTHON) --version) is too old; try: make $(firstword $(MAKECMDGOALS)) PYTHON=python3.11" >&2; exit 2; }
	@test -x $(BIN)/pip || $(PYTHON) -m venv .venv || \
		{ echo "error: cannot make .venv; on Debian and Ubuntu: apt install python3-venv" >&2; exit 2; }
	$(BIN)/python -m pip install $(PIP) --no-deps --require-hashes --only-binary :all: --requirement lock/uv.txt
	$(foreach lock,$(1),$(call locked,$(lock)) &&) true
	$(BIN)/python -m pip install $(PIP) --no-deps --no-index --no-build-isolation --editable .
endef

# uv knows no pip.conf, which may name a mirror of the index: where it fails, pip has a try, and says what is wrong.
define locked
{ VIRTUAL_ENV=.venv $(BIN)/uv pip install --quiet --no-deps --require-hashes --only-binary :all: --requirement $(1) || \
	{ echo "uv could not install $(1); pip goes on, which takes minutes" >&2; \
	$(BIN)/python -m pip install $(PIP) --no-deps --require-hashes --only-binary :all: --requirement $(1); }; }
endef
