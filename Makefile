# `make demo` and `make test` create what they need; the other targets are listed by `make help`.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
JOBS   ?= 2
PART   ?= 200  # processor seconds of the heavy tests that `make test-heavy-part` takes
APT    := DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=600  # two targets may install at once
INSTALL = $(BIN)/pip install --quiet --constraint constraints.txt --editable
EXTRAS := spark postgres browser fuzz docs
export PYTHONDONTWRITEBYTECODE =  # compiled modules are kept: tests and demo start hundreds of processes

.DEFAULT_GOAL := help
.PHONY: help environment packages demo test test-fresh test-heavy test-heavy-part test-spark test-postgres test-node test-browser test-fuzz test-client check format audit bench experiments docs dist sbom gallery clean

help:  ## Show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

$(VENV)/.ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) ".[test,check]"
	@touch $@

$(VENV)/.with-%: $(VENV)/.ready
	$(INSTALL) ".[test,check,$*]"
	@touch $@

# The package that brings a command, if the command is missing; and how it is installed.
COMMA := ,
lacking = command -v $(1) >/dev/null 2>&1 || echo $(2)
bring = echo installing $(1); $(APT) update && $(APT) install -y --no-install-recommends $(1) >/dev/null
installed = test -z "$$($(lacking))" || ($(call bring,$(2)))

environment: pyproject.toml constraints.txt  ## The environment of all targets at once, so that they may run side by side
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) ".[test,check,$(subst $() ,$(COMMA),$(EXTRAS))]"
	@touch $(VENV)/.ready
	@touch $(EXTRAS:%=$(VENV)/.with-%)

packages:  ## Java 17, PostgreSQL, Node and Chromium, those that are missing
	@missing="$$($(call lacking,java,openjdk-17-jre-headless); $(call lacking,/usr/lib/postgresql/*/bin/initdb,postgresql); \
		$(call lacking,node,nodejs); $(call lacking,chromium,chromium fonts-liberation))"; \
	test -z "$$missing" || ($(call bring,$$missing))

demo: $(VENV)/.ready  ## Statistics, a curve, a synthetic table, a local collection, an audit; every picture in demo/index.html
	$(BIN)/python examples/people.py demo
	$(BIN)/sfumato preview demo/people.toml
	$(BIN)/sfumato publish demo/people.toml --out demo/report
	$(BIN)/sfumato synthesize demo/people.toml --epsilon 1 --delta 1e-7 --column age --column state --column salary \
		--out demo/synthetic.parquet
	$(BIN)/sfumato ledger show demo/people.ledger
	$(BIN)/python examples/demo.py demo

test: $(VENV)/.ready  ## All tests that need no system packages
	$(BIN)/pytest -n $(JOBS) --dist worksteal -m "not spark and not postgres and not node and not browser and not fuzz and not heavy"

test-fresh: $(VENV)/.ready  ## The same tests with fresh seeds and examples
	SFUMATO_FRESH_SEEDS=1 $(BIN)/pytest -n $(JOBS) --dist worksteal -m "not spark and not postgres and not node and not browser and not fuzz and not heavy"

test-heavy: $(VENV)/.ready  ## Tests that take minutes each
	$(BIN)/pytest -n $(JOBS) --dist worksteal -m "heavy and not spark and not postgres and not node and not browser and not fuzz" -o faulthandler_timeout=1800

test-heavy-part: $(VENV)/.ready  ## Some of those, other ones for each commit (SFUMATO_PART=SEED repeats a run; PART=SECONDS)
	$(BIN)/pytest -n $(JOBS) --dist worksteal -m "heavy and not spark and not postgres and not node and not browser and not fuzz" -o faulthandler_timeout=1800 --part $(PART)

test-spark: $(VENV)/.with-spark  ## The engine contract on Spark (installs Java 17 if there is none)
	@$(call installed,java,openjdk-17-jre-headless)
	$(BIN)/pytest -m spark tests/contracts

test-postgres: $(VENV)/.with-postgres  ## The engine contract on PostgreSQL (installs the server if there is none, and starts one of its own)
	@$(call installed,/usr/lib/postgresql/*/bin/initdb,postgresql)
	$(BIN)/python tests/serving.py $(BIN)/pytest -m postgres tests/contracts

test-node: $(VENV)/.ready  ## The JavaScript client against the Python one (installs Node if there is none)
	@$(call installed,node,nodejs)
	$(BIN)/pytest -m node tests/node

test-browser: $(VENV)/.with-browser  ## Pages in Debian's Chromium (installs it if there is none)
	@$(call installed,chromium,chromium fonts-liberation)
	$(BIN)/pytest -m browser tests/browser

test-fuzz: $(VENV)/.with-fuzz  ## The service under requests made from its own OpenAPI document, a few minutes
	$(BIN)/pytest -m fuzz tests/fuzzing

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
	$(BIN)/mypy --config-file benchmarks/mypy.ini
	$(BIN)/python tests/check_repository.py

format: $(VENV)/.ready  ## Rewrite the code in the project's format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

audit: $(VENV)/.ready  ## Attack every mechanism and every planted bug, with a summary table
	$(BIN)/pytest -n $(JOBS) --dist worksteal -m "heavy and not spark and not postgres and not node and not browser and not fuzz" tests/auditing
	cd tests/auditing && ../../$(BIN)/python -m sfumato.auditing own:TARGETS --seconds 20

bench: pyproject.toml constraints.txt  ## Benchmarks beside other packages, in an environment of their own
	$(PYTHON) -m venv $(VENV)-bench
	$(VENV)-bench/bin/pip install --quiet --constraint constraints.txt --editable ".[test,bench]"
	$(PYTHON) -m venv $(VENV)-peers
	$(VENV)-peers/bin/pip install --quiet --requirement benchmarks/peers.txt
	for figure in noise.py engine.py joins.py ledger.py accounting.py auditing.py geometry.py functions.py local.py covering.py accuracy.py certificates.py "synthesis.py --tuning"; do \
		SFUMATO_PEER_PYTHON=$(VENV)-peers/bin/python $(VENV)-bench/bin/python benchmarks/$$figure --json \
		|| exit 1; done

# The pictures of the figures that are asked for: all, or those of the chapters that --only names.
CHAPTERS = metric:document-density geometry:document-geometry local:document-local smooth:document-smooth selection:document-thresholds
DRAWN = $(foreach each,$(CHAPTERS),$(if $(or $(if $(findstring --only,$(ARGS)),,all),$(findstring $(firstword $(subst :, ,$(each))),$(ARGS))),$(lastword $(subst :, ,$(each)))))

experiments: $(VENV)/.ready  ## Every table and figure of the five source documents, stored, in pages and pictures (DATA=DIR; ARGS="--only NAME")
	$(BIN)/python experiments/run.py $(if $(DATA),--data $(DATA)) $(or $(ARGS),--write)
	$(BIN)/python website/results.py
	$(if $(DRAWN),$(BIN)/python website/pictures.py $(DRAWN))

docs: $(VENV)/.with-docs  ## The documentation as a site that needs no network (build/site/index.html), every link followed
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict
	$(BIN)/python website/check.py docs build/site

dist:  ## Wheel and sdist in build/dist, tried outside the repository with every Python that is here
	$(PYTHON) distribution/trial.py build/dist

sbom: $(VENV)/.ready  ## A bill of materials of all packages (CycloneDX, build/sbom.cdx.json)
	$(BIN)/python distribution/sbom.py build/sbom.cdx.json

gallery: $(VENV)/.ready  ## Run the gallery and the notebooks, and keep their pictures and outputs
	$(BIN)/python website/gallery.py
	$(BIN)/python website/notebooks.py

clean:  ## Remove what the targets made (never a ledger outside demo/)
	rm -rf demo build .pytest_cache .mypy_cache .ruff_cache .hypothesis
