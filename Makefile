# `make demo` and `make test` create what they need; the other targets are listed by `make help`.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
JOBS   ?= 2
export PYTHONDONTWRITEBYTECODE =  # compiled modules are kept: tests and demo start hundreds of processes

.DEFAULT_GOAL := help
.PHONY: help demo test test-fresh test-heavy test-spark test-postgres test-node test-client check format audit bench clean

help:  ## Show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

$(VENV)/.ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --constraint constraints.txt --editable ".[test,check]"
	@touch $@

demo: $(VENV)/.ready  ## Generate a sample table, preview, publish statistics, a curve and a synthetic table (in demo/)
	$(BIN)/python examples/people.py demo
	$(BIN)/sfumato preview demo/people.toml
	$(BIN)/sfumato publish demo/people.toml --out demo/report
	$(BIN)/sfumato synthesize demo/people.toml --epsilon 1 --delta 1e-7 --column age --column state --column salary \
		--out demo/synthetic.parquet
	$(BIN)/sfumato ledger show demo/people.ledger

test: $(VENV)/.ready  ## All tests that need no system packages
	$(BIN)/pytest -n $(JOBS) --dist worksteal -m "not spark and not postgres and not node and not heavy"

test-fresh: $(VENV)/.ready  ## The same tests with fresh seeds and examples
	SFUMATO_FRESH_SEEDS=1 $(BIN)/pytest -n $(JOBS) --dist worksteal -m "not spark and not postgres and not node and not heavy"

test-heavy: $(VENV)/.ready  ## Tests that take minutes each
	$(BIN)/pytest -n $(JOBS) --dist worksteal -m "heavy and not spark and not postgres and not node" -o faulthandler_timeout=1800

test-spark: $(VENV)/.ready  ## The engine contract on Spark (installs Java 17 if there is none)
	@command -v java >/dev/null || (apt-get update -q && apt-get install -q -y openjdk-17-jre-headless)
	$(BIN)/pip install --quiet --constraint constraints.txt --editable ".[test,check,spark]"
	$(BIN)/pytest -m spark tests/contracts

test-postgres: $(VENV)/.ready  ## The engine contract on PostgreSQL (installs the server if there is none, and starts one of its own)
	@ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || (apt-get update -q && apt-get install -q -y postgresql)
	$(BIN)/pip install --quiet --constraint constraints.txt --editable ".[test,check,postgres]"
	$(BIN)/python tests/serving.py $(BIN)/pytest -m postgres tests/contracts

test-node: $(VENV)/.ready  ## The JavaScript client against the Python one (installs Node if there is none)
	@command -v node >/dev/null || (apt-get update -q && apt-get install -q -y nodejs)
	$(BIN)/pytest -m node tests/node

test-client:  ## The client's own wheel, in an environment that has numpy and nothing else
	rm -rf $(VENV)-client build/client
	$(PYTHON) -m venv $(VENV)-client
	$(PYTHON) clients/python/build.py build/client
	$(VENV)-client/bin/pip install --quiet --constraint constraints.txt build/client/*.whl
	mkdir build/client/owner
	$(VENV)-client/bin/python -W error tests/local/alone.py build/client/owner

check: $(VENV)/.ready  ## Lint, format, types, and that versions agree
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python tests/check_repository.py

format: $(VENV)/.ready  ## Rewrite the code in the project's format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

audit: $(VENV)/.ready  ## Attack every mechanism and every planted bug, with a summary table
	$(BIN)/pytest -n $(JOBS) --dist worksteal -m "heavy and not spark and not postgres and not node" tests/auditing
	cd tests/auditing && ../../$(BIN)/python -m sfumato.auditing own:TARGETS --seconds 20

bench: pyproject.toml constraints.txt  ## Benchmarks beside other packages, in an environment of their own
	$(PYTHON) -m venv $(VENV)-bench
	$(VENV)-bench/bin/pip install --quiet --constraint constraints.txt --editable ".[test,bench]"
	$(PYTHON) -m venv $(VENV)-peers
	$(VENV)-peers/bin/pip install --quiet --requirement benchmarks/peers.txt
	for figure in noise engine joins ledger accounting auditing geometry functions local synthesis tables large_tables targets smooth_queries predictions covering accuracy certificates; do \
		SFUMATO_PEER_PYTHON=$(VENV)-peers/bin/python $(VENV)-bench/bin/python benchmarks/$$figure.py --json \
		|| exit 1; done

clean:  ## Remove what the targets made (never a ledger outside demo/)
	rm -rf demo build .pytest_cache .mypy_cache .ruff_cache .hypothesis
