# fedhub. `make` lists what there is.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

# Programs built by this file are kept where the harness keeps the Go programs: outside of every checkout.
CACHE := $(or $(FEDHUB_CACHE),$(if $(XDG_CACHE_HOME),$(XDG_CACHE_HOME)/fedhub),$(HOME)/.cache/fedhub)
CARGO_DENY_VERSION := 0.20.2
CARGO_DENY := $(CACHE)/cargo-deny-$(CARGO_DENY_VERSION)/bin/cargo-deny

# Where cargo puts programs: a target directory of the user's own is respected.
TARGET := $(or $(CARGO_TARGET_DIR),target)/debug
RELEASE := $(or $(CARGO_TARGET_DIR),target)/release
HARNESS := $(or $(CARGO_TARGET_DIR),target)/harness
# Cargo.lock is part of the repository, and what is tested is what it says. Dependencies have the same features for every
# choice of packages (shared/features), so that nothing is built twice.
CARGO := cargo
LOCKED := --locked
# Says how long the phases of a run take.
TIMED := @.ci/timed

# The instance of the planes that `planes` and `down` are about.
NAME ?= default
# How many processes `chaos` kills.
KILLS ?= 50
# Where `image` puts the files of the image.
IMAGE ?= $(RELEASE)/image
# Crates whose tests mostly wait: they run beside each other and beside all others.
WAITING = fedhub fedhub-planes
# Where `release` puts what is published, and where that will be fetched from.
PLUGIN ?= $(RELEASE)/plugin
URL ?=
VERSION = $(shell sed -n 's/^version = "\(.*\)"$$/\1/p' Cargo.toml)
# What `build` builds.
BUILT = -p fedhub -p fedhub-cli -p fedhub-e2e -p fedhub-processes -p fedhub-region -p fedhub-simulate

.PHONY: help demo planes down test lint idioms fmt-check clippy doc deny advisories unit kubectl image image-check release e2e real alerts page chart-check chaos storm bench messages crds rules build need-rust need-go

help: ## List the targets
	@printf 'fedhub: what `make` can do\n\n'
	@awk -F ':.*## ' '/^[a-z][a-z0-9-]*:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@printf '\nThe first run builds etcd, Kubernetes and Karmada from source into %s: see docs/testing.md.\n' '$(CACHE)'

demo: build ## Show fedhub at work on real planes, until Ctrl-C; ONCE=1 takes all down after the last step
	@$(TARGET)/demo $(if $(filter-out 0,$(ONCE)),--once)

planes: build ## Start real planes without fedhub, and leave them running (NAME=default)
	@$(TARGET)/planes up --name $(NAME)

down: build ## End the demonstration, the planes of NAME, and whatever a killed test run or benchmark left
	@$(TARGET)/planes down --name demo
	@$(TARGET)/planes down --name $(NAME)
	@for state in tmp/planes/e2e-*/state.json tmp/planes/bench-*/state.json; do \
		instance=$$(basename "$$(dirname "$$state")"); pid=$${instance#*-}; \
		if [ -e "$$state" ] && ! kill -0 "$${pid%%-*}" 2>/dev/null; then \
			$(TARGET)/planes down --name "$$instance"; \
		fi; \
	done

test: KILLS = 10
test: lint unit chart-check real ## All tests: lint, unit and property tests, the chart, every suite on real planes, alerts, the status page, a few kills; STRICT=1 fails where a suite is flaky

lint: idioms fmt-check clippy doc deny ## Idioms, formatting, clippy for all targets, rustdoc, licences and duplicates of dependencies

unit: need-rust kubectl ## Unit and property tests
	$(TIMED) 'unit: compile' $(CARGO) test $(LOCKED) --workspace --no-run
	$(TIMED) 'unit: run' $(MAKE) --no-print-directory --jobs --output-sync=target $(WAITING:%=unit-of/%) unit-of/others

# Tests of `deploy/` build its kustomizations by it, as an installer does.
kubectl: need-rust need-go ## Build kubectl, of which tests of deploy/ ask what its kustomizations are, unless it is built
	@$(CARGO) build $(LOCKED) -q -p fedhub-e2e --bin planes
	@$(TARGET)/planes build kubernetes >/dev/null

unit-of/%: export INSTA_UPDATE = no
# Tests of commands and connections wait more than they compute.
$(WAITING:%=unit-of/%): export RUST_TEST_THREADS ?= $(shell echo $$((2 * $$(nproc))))
unit-of/others:
	@$(CARGO) test $(LOCKED) --no-fail-fast --workspace $(WAITING:%=--exclude=%)
unit-of/%:
	@$(CARGO) test $(LOCKED) --no-fail-fast --package $*

image: need-rust ## Make the files of the Dockerfile's final stage, in IMAGE (target/release/image), without a container engine
	$(CARGO) build --release $(LOCKED) --package fedhub
	rm -rf $(IMAGE)
	sh deploy/image-root.sh $(RELEASE)/fedhub $(IMAGE)
	install -D -m 0644 /etc/ssl/certs/ca-certificates.crt $(IMAGE)/etc/ssl/certs/ca-certificates.crt

image-check: need-rust ## Run the files of the Dockerfile's final stage in an empty root, without a container engine
	$(CARGO) test $(LOCKED) -p fedhub --test main -- image:: --nocapture

release: need-rust ## Make what datumctl installs, in PLUGIN (target/release/plugin): URL=https://... is where it will be fetched
	@test -n '$(URL)' || { echo 'make release: say by URL=https://... where the archive will be fetched from' >&2; exit 1; }
	$(CARGO) build --release $(LOCKED) --package fedhub-cli
	rm -rf $(PLUGIN)
	sh cli/release.sh pack $(RELEASE)/datumctl-compute $(PLUGIN)
	sh cli/release.sh index $(PLUGIN) v$(VERSION) $(URL)

e2e: build ## The chainsaw suites on real planes; SUITE=name runs one
	$(TARGET)/e2e $(if $(SUITE),--suite $(SUITE)) $(if $(filter-out 0,$(STRICT)),--strict)

real: build ## What runs on real planes, side by side: the suites, alerts, the status page, KILLS=50 kills
	$(TIMED) 'real planes' $(TARGET)/e2e all --kills $(KILLS) $(if $(SEED),--seed $(SEED)) $(if $(filter-out 0,$(STRICT)),--strict)

alerts: build ## Alerts and dashboards on a real Prometheus; RULES=1 tests the rules alone, without planes
	$(TARGET)/e2e alerts $(if $(filter-out 0,$(RULES)),--rules)

page: build ## The status page in a real browser, on real planes; PAGES=directory looks at pages that unit tests wrote
	$(TARGET)/e2e page $(if $(PAGES),--pages $(PAGES))

chart-check: build ## What Helm makes of deploy/chart, field by field beside what kubectl makes of the overlays
	$(TIMED) chart $(TARGET)/e2e chart

chaos: build ## Kill processes at random moments of rollouts, KILLS=50 times; SEED=number repeats a run
	$(TARGET)/e2e chaos --kills $(KILLS) $(if $(SEED),--seed $(SEED))

# The former name of `chaos`, for one release.
storm: chaos

# What ships is measured as it ships; the programs around it look for it beside themselves.
bench: need-rust need-go ## All benchmarks, into target/bench; QUICK=1 with fewer objects and laps; STRICT=1 fails where a bar is missed
	@$(CARGO) build --release $(LOCKED) -p fedhub -p fedhub-cli --bin fedhub --bin datumctl-compute
	@$(CARGO) build --profile harness $(LOCKED) -p fedhub-e2e -p fedhub-fake-apiserver -p fedhub-simulate \
		--bin fedhub-bench --bin fedhub-fake-apiserver --bin fedhub-simulate
	@ln -f $(addprefix $(HARNESS)/,fedhub-bench fedhub-fake-apiserver fedhub-simulate) $(RELEASE)
	@$(RELEASE)/fedhub-bench all target/bench $(if $(filter-out 0,$(QUICK)),--quick) $(if $(filter-out 0,$(STRICT)),--strict)

messages: need-rust ## Accept the messages in tests/snapshots as they are now, and write the tables of reasons anew
	INSTA_UPDATE=always INSTA_FORCE_PASS=1 $(CARGO) test $(LOCKED) -q --workspace -- read_well reads_well explains_itself is_explained
	UPDATE_REASONS=1 $(CARGO) test $(LOCKED) -q -p fedhub --test main --lib -- docs::reference::c9_ u4_the_reference
	@git --no-pager diff --stat -- '*.snap' docs

crds: need-rust ## Write deploy/crds, deploy/external-crds and docs/reference/api.md anew from the types in shared/api
	UPDATE_CRDS=1 $(CARGO) test $(LOCKED) -q -p fedhub-api --lib crds
	@git --no-pager diff --stat -- deploy/crds deploy/external-crds docs/reference/api.md

rules: need-rust ## Write the objects of deploy/components/alerts and dashboards anew from the rules and the JSON beside them
	UPDATE_RULES=1 $(CARGO) test $(LOCKED) -q -p fedhub-e2e --test main monitoring::objects
	@git --no-pager diff --stat -- deploy/components

idioms:
	$(TIMED) idioms .ci/idioms

fmt-check: need-rust
	$(TIMED) fmt $(CARGO) fmt --all --check

clippy: need-rust
	$(TIMED) clippy $(CARGO) clippy $(LOCKED) --workspace --all-targets -- -D warnings

doc: need-rust
	$(TIMED) doc env RUSTDOCFLAGS='-D warnings' $(CARGO) doc $(LOCKED) --workspace --no-deps

# The advisory database is a git repository, which a machine with package registries alone cannot reach: see deny.toml.
advisories: need-rust $(CARGO_DENY) ## Known vulnerabilities in the crates of Cargo.lock; fetches the advisory database
	$(CARGO_DENY) $(LOCKED) check advisories

deny: need-rust $(CARGO_DENY)
	$(TIMED) deny $(CARGO_DENY) $(LOCKED) check bans licenses sources

$(CARGO_DENY): | need-rust
	@echo 'cargo-deny $(CARGO_DENY_VERSION): installing into $(CACHE) (some minutes, once)'
	$(CARGO) install cargo-deny --version $(CARGO_DENY_VERSION) --locked --root $(CACHE)/cargo-deny-$(CARGO_DENY_VERSION)

build: need-rust need-go
	$(TIMED) build $(CARGO) build $(LOCKED) $(BUILT)

need-rust:
	@command -v cargo >/dev/null || { echo 'make: `cargo` was not found: install Rust 1.95 or newer (https://rustup.rs)' >&2; exit 1; }
	@command -v cc >/dev/null || { echo 'make: `cc` was not found: one dependency (ring) has parts in C; install gcc or clang' >&2; exit 1; }

need-go:
	@command -v go >/dev/null || { echo 'make: `go` was not found: install Go 1.26 or newer (https://go.dev/dl); etcd, Kubernetes and Karmada are built with it' >&2; exit 1; }
