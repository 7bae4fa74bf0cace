# `make help` lists the targets.
#
# You need Go, make, bash and git. Make builds every other tool into bin/, from the versions in tools/go.mod. It builds them
# once, and again only when that file changes.

SHELL := /usr/bin/env bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

VERSION   ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
COMMIT    ?= $(shell git rev-parse HEAD 2>/dev/null || echo unknown)
PREFIX    ?= /usr/local
# The image that "guard init" installs comes from dist/release.env.
HOLDFAST_IMAGE ?= $(shell sed -n 's/^HOLDFAST_IMAGE=//p' dist/release.env)
ARGS      ?=
BENCH     ?= .
BENCHTIME ?= 1s
FAULTS    ?= .
FUZZ      ?= .
FUZZTIME  ?= 60s
SOAK      ?= Soak
SOAKTIME  ?= 5m
HOLLOW    ?= 1000x10
STEADY    ?= 3m
OUTAGE    ?= 10s
PACKAGES  ?= ./...
EARLIER   ?= d983a34
ROUNDS    ?=
STEPS     ?=
NODES     ?=
PODS      ?=
DURATION  ?=
WHAT      ?=
SEED      ?=

# Without C the binary is static, runs on any Linux, and is a quarter smaller: with C, a library that can load plugins keeps the
# linker from removing unused code.
export CGO_ENABLED := 0

# The race detector needs C and a C compiler. Without a compiler, `go env` reports CGO_ENABLED=0.
RACE := $(if $(filter 1,$(shell env -u CGO_ENABLED go env CGO_ENABLED)),-race)

# The modules with the same versions of their dependencies.
SHARING := . test bench

# Garbage collection is a tenth of the time of the compiler and the linters, and a fifth of the server's in tests. A higher GOGC
# saves a part of this time and takes more memory.
COMPILER_GOGC := GOGC=400

# The packages with benchmarks.
BENCHMARKED := grep -rlE '^func Benchmark' --include='*_test.go' --exclude-dir=test . | xargs -n1 dirname | sort -u

# The servers beside which bench/ measures, and the components that run on a server. bench/peer/go.mod has their versions.
PEER := bin/peer/kube-apiserver bin/peer/etcd
COMPONENTS := bin/peer/kube-controller-manager bin/peer/kube-scheduler bin/peer/kubemark
# The tests of Kubernetes, and the kubectl that some of them run.
E2E := bin/peer/e2e.test bin/peer/kubectl

# gotestsum prints one line per package and the output of failed tests.
GOTESTSUM := $(CURDIR)/bin/gotestsum --format pkgname-and-test-fails --format-hide-empty-pkg --hide-summary skipped --

# What the linker sets.
LINKED = cli.linkedVersion=$(VERSION) cli.linkedCommit=$(COMMIT) cli/image.linked=$(HOLDFAST_IMAGE)

.PHONY: build
build: ## build bin/holdfast
	go build -buildvcs=false -ldflags '-s -w $(LINKED:%=-X holdfast.dev/holdfast/internal/%)' -o bin/holdfast ./cmd/holdfast

.PHONY: run
run: build ## build and start the server (ARGS="--secure-port 0" adds flags)
	bin/holdfast serve $(ARGS)

.PHONY: demo
demo: build ## show the five protections on a temporary server (ARGS="--step" waits for a key)
	bin/holdfast demo $(ARGS)

.PHONY: install
install: build ## install holdfast and its names for kubectl below PREFIX (/usr/local), or below DESTDIR for a package
	install -d '$(DESTDIR)$(PREFIX)/bin'
	install -m 0755 bin/holdfast '$(DESTDIR)$(PREFIX)/bin/holdfast'
	@for name in kubectl-holdfast kubectl-kudo kubectl_complete-holdfast kubectl_complete-kudo; do ln -sfn holdfast "$(DESTDIR)$(PREFIX)/bin/$$name"; done

# The release is built from an export of the commit, so files that are not committed are not in it.
.PHONY: release
release: ## write a release to bin/release: archives, image, checksums, bills of materials (VERSION=v0.1.0; TWICE=yes compares two builds)
	tools/release.sh '$(VERSION)' bin/release
ifdef TWICE
	tools/release.sh '$(VERSION)' bin/release-again
	diff -r bin/release bin/release-again
	@echo "make release: both builds of $(VERSION) are identical"
endif

.PHONY: check
check: bin/.tools ## for every save: format, lint, the tests that start no server
	@tools/test.sh format lint quick

.PHONY: test
test: ## everything a change must pass (STEPS="unit tags" runs some steps, STEPS=console tests the console in a browser)
	@tools/test.sh $(STEPS)

# The race detector waits a second at the end of each process, which no test needs.
.PHONY: race
race: bin/gotestsum ## the root module's tests with the race detector (PACKAGES=./... chooses)
	$(if $(RACE),,@echo "no C compiler: the tests run without the race detector";) \
		$(if $(RACE),CGO_ENABLED=1) GORACE=atexit_sleep_ms=0 GOGC=200 \
		$(GOTESTSUM) $(RACE) -vet=off -shuffle=on -p 3 -parallel 3 -timeout 30m $(PACKAGES)

# One run for the modules that share dependencies: golangci-lint then analyses these once.
.PHONY: lint
lint: bin/golangci-lint bin/go.work ## golangci-lint, every module
	@GOWORK=$(CURDIR)/bin/go.work $(COMPILER_GOGC) bin/golangci-lint run --config .golangci.yml $(SHARING:%=./%/...)
	@cd tools && $(COMPILER_GOGC) ../bin/golangci-lint run --config ../.golangci.yml ./...

# The workspace of these modules.
bin/go.work: $(SHARING:%=%/go.mod)
	@mkdir -p bin
	@rm -f $@
	@cd bin && GOWORK=off go work init $(SHARING:%=../%)

.PHONY: fmt
fmt: bin/golangci-lint ## format all Go files
	bin/golangci-lint fmt

.PHONY: generate
generate: bin/openapi-gen bin/controller-gen ## write every generated file (zz_*, the definition of the controller tests)
	tools/generate.sh .

.PHONY: fuzz
fuzz: ## run each fuzz target for FUZZTIME (FUZZ=regexp chooses)
	tools/fuzz.sh '$(FUZZTIME)' '$(FUZZ)'

.PHONY: bench
bench: ## run the benchmarks (BENCH=regexp chooses, BENCHTIME=1s)
	go test -vet=off -run '^$$' -bench '$(BENCH)' -benchtime '$(BENCHTIME)' -benchmem $$($(BENCHMARKED))

.PHONY: hollow
hollow: ## one server with many node agents that write no files (HOLLOW=NODESxPODS, STEADY=3m, OUTAGE=10s, three runs of each case)
	mkdir -p bin
	HOLDFAST_HOLLOW=$(HOLLOW) HOLDFAST_HOLLOW_STEADY=$(STEADY) HOLDFAST_HOLLOW_OUTAGE=$(OUTAGE) \
		go test -vet=off -run '^$$' -bench HollowNodes -benchtime 1x -count 3 -timeout 6h ./internal/node | tee bin/hollow.txt
	awk -v nodes=$(firstword $(subst x, ,$(HOLLOW))) -v svg=bin/hollow.svg -f tools/hollow.awk bin/hollow.txt

.PHONY: soak
soak: ## run each soak test for SOAKTIME (make test runs them for seconds; SOAK=regexp chooses)
	HOLDFAST_SOAK=$(SOAKTIME) HOLDFAST_SEED=$(SEED) go test -run '$(SOAK)' -count 1 -v -timeout 24h \
		$$(grep -rlE '^func TestSoak' --include='*_test.go' --exclude-dir=test . | xargs -n1 dirname | sort -u)

# The random choices of a run come from a seed, which each test prints: make faults SEED=... FAULTS=TestKill repeats them.
.PHONY: faults
faults: ## kill and pause servers, cut files, fill disks, attack, in the long form (FAULTS=regexp chooses, SEED=, ROUNDS=)
	cd test && HOLDFAST_FAULTS=long HOLDFAST_FAULTS_SEED=$(SEED) HOLDFAST_FAULTS_ROUNDS=$(ROUNDS) \
		go test -vet=off -count 1 -v -parallel 1 -timeout 3h -run '$(FAULTS)' ./faults

.PHONY: downgrade
downgrade: ## serve the data of this version with the program of EARLIER (a tag or commit), and back
	mkdir -p bin/earlier && tools/release-program.sh $(EARLIER) bin/earlier/holdfast
	cd test && HOLDFAST_RELEASE_PROGRAM=$(CURDIR)/bin/earlier/holdfast go test -vet=off -count 1 -v -run TestDowngrade ./upgrade

.PHONY: upgrade-data
upgrade-data: ## write the data of EARLIER, on which make test starts this version from then on
	mkdir -p bin/earlier && tools/release-program.sh $(EARLIER) bin/earlier/holdfast
	cd test && HOLDFAST_RELEASE_PROGRAM=$(CURDIR)/bin/earlier/holdfast HOLDFAST_RELEASE_ARCHIVE=testdata/$(EARLIER).tar.gz \
		go test -vet=off -count 1 -v -run TestWrite ./upgrade

.PHONY: docs
docs: bin/gotestsum ## run the commands of all documents, and record the demo (make test runs those of README and of the tour)
	cd test && HOLDFAST_DOCUMENTS=all $(GOTESTSUM) -vet=off -count 1 -parallel 3 -timeout 15m -run 'TestDocuments|TestDemo' ./kubectl
	go -C tools run ./terminal -chapters 5 < docs/demo.txt > docs/demo.svg

.PHONY: bench-peer
bench-peer: build $(PEER) bin/peer/kubectl ## measure our server beside kube-apiserver, and write docs/benchmarks.md (ARGS="-rounds 3" adds flags)
	go -C bench run . compare -peer ../bin/peer -out ../docs/benchmarks.md $(ARGS)

.PHONY: pages
pages: ## write docs/benchmarks.md, docs/scale.md and their plots from docs/benchmarks/figures.json and docs/scale/run.json
	go -C bench run . compare -from ../docs/benchmarks/figures.json -out ../docs/benchmarks.md
	go -C bench run . scale

# What compare compares, and what it needs.
COMPARE := attack cluster conformance guard guard-reviews kubectl kudo nodes oracle replacement scale-run series writes
REVIEWS := internal/othercluster/guard/testdata/reviews
compare-attack        = attack -peer ../bin/peer
compare-cluster       = cluster -peer ../bin/peer
compare-conformance   = conformance -peer ../bin/peer -out ../docs/conformance.md
compare-guard         = guard -peer ../bin/peer
compare-guard-reviews = guard -peer ../bin/peer -record ../$(REVIEWS)
compare-kubectl       = kubectl -peer ../bin/peer
compare-kudo          = kudo -peer ../bin/peer
compare-nodes         = cluster -peer ../bin/peer -nodes 100 -pods 3000
compare-replacement   = replacement -peer ../bin/peer
compare-scale-run     = scale-run -peer ../bin/peer $(NODES:%=-nodes %) $(PODS:%=-pods %) $(DURATION:%=-steady %)
compare-series        = kubectl -script series -peer ../bin/peer
compare-oracle        = HOLDFAST_ORACLE_ROUNDS=$(or $(ROUNDS),30)
compare-writes        = HOLDFAST_WRITES=$(or $(ROUNDS),10000)
.PHONY: compare
compare: build $(if $(filter cluster conformance nodes,$(WHAT)),$(COMPONENTS)) $(if $(filter conformance,$(WHAT)),$(E2E)) $(if $(filter-out cluster oracle,$(WHAT)),$(PEER)) ## compare answers with kube-apiserver (WHAT=attack, cluster, conformance, guard, guard-reviews, kubectl, kudo, nodes, oracle, replacement, scale-run, series or writes)
	@$(if $(filter $(WHAT),$(COMPARE)),true,echo "make compare needs WHAT, one of: $(COMPARE)" && exit 2)
	$(if $(filter guard-reviews,$(WHAT)),rm -f $(REVIEWS)/*.json)
	$(if $(filter oracle writes,$(WHAT)),cd test && $(compare-$(WHAT)) go test -vet=off -count 1 -v -timeout 60m ./upstream,\
		go -C bench run . $(compare-$(WHAT)) $(ARGS))

.PHONY: conformance scale-run
conformance scale-run:
	@$(MAKE) compare WHAT=$@

.PHONY: vuln
vuln: bin/govulncheck ## look for known vulnerabilities in the code that we call, in the Go vulnerability database
	bin/govulncheck ./...

.PHONY: clean
clean: ## remove bin/
	rm -rf bin

.PHONY: help
help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-20s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# The tools, at the versions of tools/go.mod. One command builds those that make test needs, so that Go compiles their shared
# dependencies once and links one tool while it compiles the next.
bin/golangci-lint bin/gotestsum bin/openapi-gen bin/controller-gen: bin/.tools
bin/.tools: tools/go.mod tools/go.sum
	$(COMPILER_GOGC) go -C tools build -ldflags '-s -w' -o ../bin/ \
		github.com/golangci/golangci-lint/v2/cmd/golangci-lint gotest.tools/gotestsum \
		k8s.io/kube-openapi/cmd/openapi-gen sigs.k8s.io/controller-tools/cmd/controller-gen
	@touch $@

bin/govulncheck: tools/go.mod tools/go.sum
	go -C tools build -o ../bin/ golang.org/x/vuln/cmd/govulncheck
	@touch $@

# Components of Kubernetes and etcd, from the module proxy, at the versions of bench/peer/go.mod. Clients complain about a Kubernetes component without a version.
KUBERNETES_VERSION = $(shell awk '$$1 == "k8s.io/kubernetes" { print $$2; exit }' bench/peer/go.mod)
KUBERNETES_LDFLAGS = $(foreach module,component-base client-go/pkg,-X k8s.io/$(module)/version.gitVersion=$(KUBERNETES_VERSION))
bin/peer/kube-apiserver bin/peer/kube-controller-manager bin/peer/kube-scheduler bin/peer/kubemark bin/peer/kubectl: bench/peer/go.mod bench/peer/go.sum
	$(COMPILER_GOGC) go -C bench/peer build -ldflags '-s -w $(KUBERNETES_LDFLAGS)' -o ../../$@ \
		k8s.io/kubernetes/cmd/$(@F)
	@touch $@

bin/peer/e2e.test: bench/peer/go.mod bench/peer/go.sum
	$(COMPILER_GOGC) go -C bench/peer test -c -vet=off -ldflags '-s -w $(KUBERNETES_LDFLAGS)' -o ../../$@ k8s.io/kubernetes/test/e2e
	@touch $@

bin/peer/etcd: bench/peer/go.mod bench/peer/go.sum
	$(COMPILER_GOGC) go -C bench/peer build -ldflags '-s -w' -o ../../$@ go.etcd.io/etcd/server/v3
	@touch $@
