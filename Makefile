# The targets and what they promise; `make help` lists them.
#
# Only Go, make, bash and git are needed: every other tool is built into bin/ from the versions that tools/go.mod pins,
# once, and again only when that file changes.

SHELL := /usr/bin/env bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

VERSION   ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
ARGS      ?=
BENCH     ?= .
BENCHTIME ?= 1s
FUZZ      ?= .
FUZZTIME  ?= 60s
FUZZDIRS  ?= .
SOAKTIME  ?= 5m
HOLLOW    ?= 1000x10

# Without C the binary is static, runs wherever Linux does, and is a quarter smaller: with it, a library that can load plugins
# keeps the linker from leaving out what nobody calls.
export CGO_ENABLED := 0

# The race detector does need C, and a compiler for it; Go reports CGO_ENABLED=0 where there is none.
RACE := $(if $(filter 1,$(shell env -u CGO_ENABLED go env CGO_ENABLED)),-race)

# Modules with Go code of ours: the root and, where it exists, the one with the end-to-end tests.
MODULES := . $(patsubst %/go.mod,%,$(wildcard test/go.mod))
SUBMAKE := $(MAKE) --no-print-directory

.PHONY: build
build: ## build bin/holdfast
	go build -buildvcs=false -ldflags '-s -w -X holdfast.dev/holdfast/cli.version=$(VERSION)' -o bin/holdfast ./cmd/holdfast

.PHONY: run
run: build ## build and start the server (ARGS="--secure-port 0" adds flags)
	bin/holdfast serve $(ARGS)

# What a change must pass. The steps stop at the first failure, the ones that answer soonest first.
#
# Everything is compiled twice and no more: lint, the end-to-end tests and the benchmarks share plain builds, the tests of the
# root module are built with the race detector. Fuzzing would be a third time, so its short form is for three engines, whose
# imports are few; everywhere the seeds of a fuzz target are part of the tests. The short form of the soak tests is among the
# tests as well, and the linters include go vet.
.PHONY: test
test: ## everything a change must pass
	@tools/step.sh tools      $(SUBMAKE) bin/golangci-lint bin/openapi-gen bin/controller-gen bin/gotestsum
	@tools/step.sh format     $(SUBMAKE) check-format
	@tools/step.sh verify     $(SUBMAKE) verify
	@tools/step.sh compile    $(SUBMAKE) compile
	@tools/step.sh lint       $(SUBMAKE) lint
	@tools/step.sh unit       $(SUBMAKE) test-unit
	@tools/step.sh end-to-end $(SUBMAKE) test-end-to-end
	@tools/step.sh fuzz       $(SUBMAKE) fuzz FUZZTIME=3s FUZZDIRS="schema immutability parameters"
	@tools/step.sh bench      $(SUBMAKE) bench BENCHTIME=1x
	@echo "make test: every step passed"

.PHONY: test-unit
test-unit: bin/gotestsum ## the root module's tests, with the race detector
	@$(if $(RACE),true,echo "no C compiler: the tests run without the race detector")
	CGO_ENABLED=$(if $(RACE),1,0) bin/gotestsum --format pkgname-and-test-fails --format-hide-empty-pkg --hide-summary skipped -- $(RACE) -vet=off -shuffle=on -timeout 15m ./...

.PHONY: test-end-to-end
test-end-to-end: bin/gotestsum ## the test module: kubectl scripts, controllers, Helm
	@if [ ! -d test ]; then echo "there is no directory test: nothing to run"; exit 0; fi; \
	cd test && ../bin/gotestsum --format pkgname-and-test-fails --format-hide-empty-pkg --hide-summary skipped -- -vet=off -timeout 15m ./...

.PHONY: compile
compile: ## compile every package and every test, every module
	@for module in $(MODULES); do go -C $$module list -export -deps -test ./... >/dev/null; done

.PHONY: vet
vet: ## go vet, every module
	@for module in $(MODULES); do go -C $$module vet ./...; done

.PHONY: lint
lint: bin/golangci-lint ## golangci-lint, every module
	@for module in $(MODULES); do (cd $$module && $(CURDIR)/bin/golangci-lint run --config $(CURDIR)/.golangci.yml ./...); done

.PHONY: fmt
fmt: bin/golangci-lint ## format the tree
	bin/golangci-lint fmt

.PHONY: check-format
check-format: bin/golangci-lint
	@bin/golangci-lint fmt --diff || { echo "not formatted: run make fmt"; exit 1; }

.PHONY: generate
generate: bin/openapi-gen bin/controller-gen ## write the generated files anew
	tools/generate.sh .

.PHONY: verify
verify: bin/openapi-gen bin/controller-gen ## generated files and go.mod files are up to date, no machine's paths in the tree
	tools/verify.sh

.PHONY: fuzz
fuzz: ## run each fuzz target for FUZZTIME (FUZZ=regexp chooses)
	tools/fuzz.sh '$(FUZZTIME)' '$(FUZZ)' $(FUZZDIRS)

.PHONY: bench
bench: ## run the benchmarks (BENCH=regexp chooses, BENCHTIME=1s)
	@packages=$$({ grep -rlE '^func Benchmark' --include='*_test.go' --exclude-dir=test --exclude-dir=bench . || true; } | xargs -r -n1 dirname | sort -u); \
	if [ -z "$$packages" ]; then echo "there are no benchmarks: nothing to run"; exit 0; fi; \
	go test -vet=off -run '^$$' -bench '$(BENCH)' -benchtime '$(BENCHTIME)' -benchmem $$packages

.PHONY: hollow
hollow: ## many node agents without files against one server (HOLLOW=NODESxPODS)
	HOLDFAST_HOLLOW=$(HOLLOW) go test -vet=off -run '^$$' -bench HollowNodes -benchtime 1x -timeout 120m ./node

.PHONY: soak
soak: ## the tests that take long, for SOAKTIME (make test runs them for seconds)
	HOLDFAST_SOAK=$(SOAKTIME) go test -run Soak -count 1 -v -timeout 60m ./apiserver ./apiserver/custom ./projection ./node

.PHONY: figures
figures: build ## the figures of the README
	@tools/figures.sh

.PHONY: vuln
vuln: bin/govulncheck ## known vulnerabilities in what we call (asks the Go vulnerability database)
	bin/govulncheck ./...

.PHONY: clean
clean: ## remove bin/
	rm -rf bin

.PHONY: help
help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# The tools, at the versions of tools/go.mod.
bin/golangci-lint: TOOL := github.com/golangci/golangci-lint/v2/cmd/golangci-lint
bin/govulncheck:   TOOL := golang.org/x/vuln/cmd/govulncheck
bin/gotestsum:     TOOL := gotest.tools/gotestsum
bin/openapi-gen:   TOOL := k8s.io/kube-openapi/cmd/openapi-gen
bin/controller-gen: TOOL := sigs.k8s.io/controller-tools/cmd/controller-gen
bin/golangci-lint bin/govulncheck bin/gotestsum bin/openapi-gen bin/controller-gen: tools/go.mod tools/go.sum
	go -C tools build -o ../bin/ $(TOOL)
	@touch $@
