# Every target makes and reuses .venv itself; all it needs is make and python3 >= 3.11.
#
#   make demo      a pause storm on a leaf-spine fabric: found, explained, mitigated; results in runs/demo
#   make test      the tests, without the slow ones
#   make test-all  all tests
#   make bench     packets a second on this machine
#   make goldens   run the golden runs again, print what changed, and keep the results
#   make check     ruff, mypy --strict, import ladder
#   make clean     remove .venv and caches; runs/ stays

PYTHON ?= python3
PYTEST_ARGS ?=
BIN := .venv/bin
READY := .venv/.ready

.DELETE_ON_ERROR:
.PHONY: demo test test-all bench goldens check clean

demo: $(READY)
	rm -rf runs/demo
	$(BIN)/fabric playbook run pfc-storm --out runs/demo

test: $(READY)
	$(BIN)/python -m pytest -q -m "not slow" $(PYTEST_ARGS)

test-all: $(READY)
	$(BIN)/python -m pytest -q $(PYTEST_ARGS)

bench: $(READY)
	$(BIN)/python -m bench

goldens: $(READY)
	$(BIN)/python -m tests.goldens

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/mypy --strict
	$(BIN)/python -m pytest -q tests/test_layering.py

clean:
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist
	find fabric telemetry playbooks tests -name __pycache__ -type d -exec rm -rf {} +

# The stamp, not the folder: an install that was cut off is done again.
$(READY): pyproject.toml
	@command -v $(PYTHON) >/dev/null || { echo "error: no '$(PYTHON)' here; install Python 3.11 or newer" >&2; exit 2; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "error: $$($(PYTHON) --version) is too old; try: make $(firstword $(MAKECMDGOALS)) PYTHON=python3.11" >&2; exit 2; }
	@test -x $(BIN)/pip || $(PYTHON) -m venv .venv || \
		{ echo "error: cannot make .venv; on Debian and Ubuntu: apt install python3-venv" >&2; exit 2; }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev,plot]'
	@touch $@
