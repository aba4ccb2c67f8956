# The commands of this repository. `make help` lists them.
#
# Only the toolchains are expected on the machine: Rust by rustup, Node.js 20 or later with npm, Python 3.10 or later with
# venv, and Go for grpcurl. Everything else is installed below target/ and the folders node_modules by the targets that
# need it.

SHELL := /bin/bash
.DEFAULT_GOAL := help

TARGET_DIR := $(or $(CARGO_TARGET_DIR),$(CURDIR)/target)
TOOLS := $(CURDIR)/target/tools
BUF := $(CURDIR)/proto/node_modules/.bin/buf
GRPCURL := $(TOOLS)/bin/grpcurl
GRPCURL_VERSION := v1.9.3
# The interpreter of the Python client's checks and tests, and the marks that its packages and npm's are there.
PYTHON := $(TOOLS)/python/bin/python
NODE_MODULES := client/typescript/node_modules/.package-lock.json
# What the runners of the corpus report, and who must.
CORPUS_REPORT := $(CURDIR)/target/corpus.jsonl
CORPUS_LANGUAGES := "Rust (in process)" "Rust" "Python" "Python (asyncio)" "TypeScript"
# The interpreter that generates Python code has packages of its own: they are older than those that the client is tested with.
GENERATOR := $(TOOLS)/python-generator

.PHONY: help
help: ## List the commands.
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 26

.PHONY: build
build: ## Build the command, optimized.
	cargo build --release -p toolfs-server

.PHONY: test
test: $(BUF) grpcurl $(PYTHON) $(NODE_MODULES) ## Run every test; needs no root, and tells what it skips.
	@rm -f $(CORPUS_REPORT)
	@# One set of features for the command and for the tests: else every crate would be built twice.
	cargo build --workspace --all-features --bins --tests --examples
	TOOLFS_BIN="$(TARGET_DIR)/debug/toolfs" TOOLFS_BUF="$(BUF)" TOOLFS_GRPCURL="$$(test -x $(GRPCURL) && echo $(GRPCURL))" \
		TOOLFS_PYTHON="$(PYTHON)" TOOLFS_NODE="$$(command -v node)" TOOLFS_CORPUS_REPORT="$(CORPUS_REPORT)" \
		cargo test --workspace --all-features
	@# They wait for servers more than they compute: at once they take little more than the longest of them.
	$(MAKE) --no-print-directory -j3 --output-sync=target test-python test-typescript test-seam
	python3 client/corpus/table.py $(CORPUS_REPORT) $(CORPUS_LANGUAGES)

.PHONY: test-python
test-python: $(PYTHON) ## Run the tests of the Python client against the command that was built last.
	cd client/python && TOOLFS_BIN="$(TARGET_DIR)/debug/toolfs" TOOLFS_CORPUS_REPORT="$(CORPUS_REPORT)" $(PYTHON) -m pytest

.PHONY: test-typescript
test-typescript: $(NODE_MODULES) ## Run the tests of the TypeScript client against the command that was built last.
	cd client/typescript && npm run --silent build
	cd client/typescript && TOOLFS_BIN="$(TARGET_DIR)/debug/toolfs" TOOLFS_CORPUS_REPORT="$(CORPUS_REPORT)" npm test --silent

# A provider in another language is a command; the suite adds what to serve and where.
SEAM_SUITE := cargo test --quiet --workspace --all-features --test seam

.PHONY: test-seam
test-seam: $(PYTHON) $(NODE_MODULES) ## Run the suite of every provider over the example providers in Python and TypeScript.
	TOOLFS_SEAM_PROVIDER="$(PYTHON) $(CURDIR)/client/python/examples/directory_provider.py --until-stdin-closes" \
		TOOLFS_SEAM_EXCEPTIONS="$(CURDIR)/client/python/examples/directory_provider.exceptions.txt" $(SEAM_SUITE)
	TOOLFS_SEAM_PROVIDER="env TSX_TSCONFIG_PATH=$(CURDIR)/client/typescript/tsconfig.json \
		node --import file://$(CURDIR)/client/typescript/node_modules/tsx/dist/esm/index.mjs \
		$(CURDIR)/client/typescript/examples/directory-provider.ts --until-stdin-closes" $(SEAM_SUITE)

.PHONY: packages
packages: $(PYTHON) $(NODE_MODULES) ## Pack the clients, install each into an empty project, and run its quickstart there.
	@# Built as for `make test`, so that it is there already: other targets would choose other features of libraries.
	cargo build --workspace --all-features --bins --tests --examples
	TOOLFS_BIN="$(TARGET_DIR)/debug/toolfs" PYTHON="$(PYTHON)" client/packed.sh $(CURDIR)/target/packed

# The features are those of `make test`, so that nothing is built twice.
PROOF := cargo test --quiet --workspace --all-features --test proof --

PROOFS := observations path-attack path-race foreign-writer kill-boundary kill-exchange kill-load failing-calls full-disk \
	power-cut power-sequence power-device huge no-false-alarm lost-update cancel locks real-edits only-the-match
# All of them run, also after one that failed.
prove_each = @failed=; for proof in $(PROOFS); do $(PROOF) $$proof $(1) || failed="$$failed $$proof"; done; \
	if test -n "$$failed"; then echo "not as promised:$$failed"; exit 1; fi

.PHONY: prove
prove: prove-packages ## Try the promises in their full size, and see that planted faults are found.
	$(call prove_each,)

.PHONY: prove-ci
prove-ci: ## The same with a twentieth of the cases.
	$(call prove_each,--size 1/20)

.PHONY: prove-packages
prove-packages: ## Fetch the releases of packages whose changes a proof replays; says what it cannot have.
	tests/proof/real/fetch.py "$(TARGET_DIR)/real-packages"

.PHONY: prove-setup
prove-setup: ## Install what the proofs need beside the toolchains (as root, with apt); without it they say what they skip.
	tests/proof/setup.sh

.PHONY: check
check: fmt clippy doc buf generated check-clients layering compile-only ## Everything that needs no test run.

.PHONY: fmt
fmt: ## Check the format.
	cargo fmt --all --check
	cd server/core/fuzz && cargo fmt --check
	cd server/provider-local/fuzz && cargo fmt --check

.PHONY: clippy
clippy: ## Lint all targets with all features.
	cargo clippy --workspace --all-targets --all-features -- -D warnings
	@# The proof is no default target: its first word names a proof and is no filter.
	cargo clippy --workspace --all-features --test proof -- -D warnings

.PHONY: doc
doc: ## Build the API documentation, warnings denied.
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --all-features

.PHONY: buf
buf: $(BUF) ## Lint the contract and compare it with its released baseline.
	cd proto && $(BUF) lint
	cd proto && $(BUF) format --diff --exit-code
	@if test -f proto/v1.binpb; then cd proto && $(BUF) breaking --against v1.binpb; \
	else echo "buf breaking: skipped, there is no released baseline"; fi

.PHONY: check-clients
check-clients: $(PYTHON) $(NODE_MODULES) ## Check the format and the types of the clients.
	cd client/python && $(PYTHON) -m ruff format --check . && $(PYTHON) -m ruff check . && $(PYTHON) -m mypy
	cd client/typescript && npm run --silent check

.PHONY: layering
layering: ## Look for libraries that a layer must not have in its tree, and for features that the command must not have.
	@for crate in toolfs-core toolfs-provider; do \
		for banned in tokio tonic prost tracing-subscriber; do \
			if test -n "$$(cargo tree -q -e normal -p $$crate -i $$banned 2>/dev/null)"; then \
				echo "$$crate has $$banned in its tree: see the dependency table in server/ARCHITECTURE.md"; exit 1; \
			fi; \
		done; \
	done; echo "layering: core and provider are free of tokio, tonic, prost and tracing-subscriber"
	@# The second question is asked of a build that has the fault in it: a search that cannot find it says nothing.
	@planted() { cargo tree -q -e normal,features -p toolfs-server -i toolfs-core "$$@"; }; \
	with="$$(planted -F planted-faults)" && without="$$(planted)" || exit 1; \
	feature='toolfs-core feature "planted-faults"'; \
	case "$$with" in *"$$feature"*) ;; *) echo "layering: $$feature is not found where it is"; exit 1;; esac; \
	case "$$without" in *"$$feature"*) echo "the default features of toolfs-server switch on $$feature: it is for proofs only"; exit 1;; esac; \
	echo "layering: the default features of toolfs-server plant no fault"

.PHONY: compile-only
compile-only: ## Type-check benches and fuzz targets.
	cargo check --workspace --benches
	cargo check --manifest-path server/core/fuzz/Cargo.toml --target-dir $(TARGET_DIR)/fuzz
	cargo check --manifest-path server/provider-local/fuzz/Cargo.toml --target-dir $(TARGET_DIR)/fuzz

.PHONY: contract-release
contract-release: $(BUF) ## Make the present contract the baseline that later ones may not break.
	cd proto && $(BUF) build --exclude-source-info --as-file-descriptor-set -o v1.binpb

.PHONY: generate
generate: $(BUF) $(GENERATOR)/bin/protoc-gen-mypy $(PYTHON) ## Generate the code of the clients anew.
	cd proto && PATH="$(GENERATOR)/bin:$$PATH" $(BUF) generate
	$(PYTHON) client/python/tools/generate_sync.py

.PHONY: generated
generated: generate ## See that the committed generated code is what the contract and the plugins make.
	@changed="$$(git status --porcelain -- client)"; \
	if test -n "$$changed"; then echo "generated code is not current: run \`make generate\` and commit"; echo "$$changed"; exit 1; fi

.PHONY: bench
bench: build bench-clients ## Run the micro-benches, what the clients' layers cost, and the load on the command.
	cargo bench -p toolfs-core -p toolfs-provider-local
	TOOLFS_BIN="$(TARGET_DIR)/release/toolfs" cargo bench -p toolfs-contract --bench load

.PHONY: bench-clients
bench-clients: build $(PYTHON) $(NODE_MODULES) ## Time each client's layer against the bare generated stub.
	cd client/python && $(PYTHON) bench/layer.py --binary "$(TARGET_DIR)/release/toolfs"
	cd client/typescript && TOOLFS_BIN="$(TARGET_DIR)/release/toolfs" npm run --silent bench

.PHONY: audit
audit: $(TOOLS)/bin/cargo-deny ## Check licences, bans and sources, and each crate alone.
	$(TOOLS)/bin/cargo-deny check licenses bans sources
	@for crate in $$(cargo metadata --no-deps --format-version 1 | grep -oE '"name":"toolfs-[a-z-]+"' | cut -d'"' -f4 | sort -u); do \
		echo "cargo check -p $$crate"; cargo check -q -p $$crate || exit 1; \
	done

.PHONY: grpcurl
grpcurl: ## Install grpcurl as target/tools/bin/grpcurl.
	@# Without Go there is none: the tests that want it say that they skip.
	@if test ! -x $(GRPCURL); then \
		if command -v go >/dev/null; then GOBIN=$(TOOLS)/bin go install github.com/fullstorydev/grpcurl/cmd/grpcurl@$(GRPCURL_VERSION); \
		else echo "grpcurl: skipped, there is no Go toolchain"; fi; \
	fi

$(BUF): proto/package-lock.json
	cd proto && npm ci --no-audit --no-fund
	touch $@

$(TOOLS)/bin/cargo-deny:
	cargo install --locked --root $(TOOLS) cargo-deny

$(GENERATOR)/bin/protoc-gen-mypy: proto/requirements.txt
	python3 -m venv $(GENERATOR)
	$(GENERATOR)/bin/pip install --quiet --disable-pip-version-check -r proto/requirements.txt
	touch $@

$(PYTHON): client/python/requirements-dev.txt client/python/requirements-sdks.txt client/python/pyproject.toml
	python3 -m venv $(TOOLS)/python
	$(PYTHON) -m pip install --quiet --disable-pip-version-check -r client/python/requirements-dev.txt \
		-r client/python/requirements-sdks.txt -e client/python
	touch $@

$(NODE_MODULES): client/typescript/package-lock.json
	cd client/typescript && npm ci --no-audit --no-fund
	touch $@
