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
ARGS      ?=
BENCH     ?= .
BENCHTIME ?= 1s
FAULTS    ?= .
FUZZ      ?= .
FUZZTIME  ?= 60s
SOAKTIME  ?= 5m
HOLLOW    ?= 1000x10
STEADY    ?= 3m
OUTAGE    ?= 10s
PACKAGES  ?= ./...
EARLIER   ?= d983a34
ROUNDS    ?=
SEED      ?=

# Without C the binary is static, runs on any Linux, and is a quarter smaller: with C, a library that can load plugins keeps the
# linker from removing unused code.
export CGO_ENABLED := 0

# The race detector needs C and a C compiler. Without a compiler, `go env` reports CGO_ENABLED=0.
RACE := $(if $(filter 1,$(shell env -u CGO_ENABLED go env CGO_ENABLED)),-race)

# The modules with our Go code: the root, the end-to-end tests, the measurements beside kube-apiserver, and the release.
MODULES := . test bench tools
SUBMAKE := $(MAKE) --no-print-directory

# Garbage collection is a tenth of the time of the compiler and the linters, and a fifth of the server's in tests. A higher GOGC
# saves a part of this time and takes more memory.
COMPILER_GOGC := GOGC=400

# The packages with benchmarks.
BENCHMARKED := grep -rlE '^func Benchmark' --include='*_test.go' --exclude-dir=test . | xargs -n1 dirname | sort -u

# The servers beside which bench/ measures. bench/peer/go.mod has their versions.
PEER := bin/peer/kube-apiserver bin/peer/etcd

# The components that run on a server.
COMPONENTS := bin/peer/kube-controller-manager bin/peer/kube-scheduler bin/peer/kubemark

# gotestsum prints one line per package and the output of failed tests.
GOTESTSUM := $(CURDIR)/bin/gotestsum --format pkgname-and-test-fails --format-hide-empty-pkg --hide-summary skipped --

.PHONY: build
build: ## build bin/holdfast
	go build -buildvcs=false -ldflags '-s -w $(foreach name,linkedVersion=$(VERSION) linkedCommit=$(COMMIT),-X holdfast.dev/holdfast/internal/cli.$(name))' \
		-o bin/holdfast ./cmd/holdfast

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

# The release is built from an export of the commit, so files that are not committed are not in it. RELEASE is the folder for it.
RELEASE := bin/release
.PHONY: release
release: ## write the files of a release to bin/release: archives, image, checksums, bills of materials (VERSION=v0.1.0)
	tools/release.sh '$(VERSION)' '$(RELEASE)'

.PHONY: check-release
check-release: ## write the release twice, from two folders, and compare every byte
	tools/release.sh '$(VERSION)' bin/release-1
	tools/release.sh '$(VERSION)' bin/release-2
	diff -r bin/release-1 bin/release-2
	@echo "make check-release: both builds of $(VERSION) are identical"

# For every save: under three minutes with warm caches. The tests that start a server are left out. tools/without-server.sh finds
# them by their dependencies. Without the race detector these tests share their build with the linters, and Go caches their
# results.
.PHONY: check
check: ## for every save: format, lint, the tests that start no server
	@tools/step.sh format     $(SUBMAKE) check-format
	@tools/step.sh lint       $(SUBMAKE) lint
	@tools/step.sh unit       $(SUBMAKE) test-without-server
	@echo "make check: every step passed"

# For every commit: everything that a change must pass. It stops at the first step that fails. After the compilation, the
# fast steps come first.
#
# The steps are in this form to save time, above all with cold caches, where compiling and linking take most of it:
#
# - All code is compiled once. tools/verify.sh checks that the root module and the test module have the same versions of shared
#   dependencies, because one different version makes Go compile everything that depends on it again.
# - The race detector needs a second compilation of everything, and makes the tests three times as slow. `make race` runs all
#   tests with it. The step here is its short form: the packages through which the others share work between goroutines, and
#   which start no server.
# - Fuzzing would compile once more, so it is not a step. The seeds of every fuzz target run as part of the tests: that is
#   its short form, and it keeps the target working. `make fuzz` does the fuzzing.
# - Each benchmark runs once, right after the tests of its package. The soak tests are among the tests, in a form that takes
#   seconds; `make soak` runs them longer.
# - go vet is one of the linters, so `go test` does not run it again.
# - While Go downloads modules, it compiles the standard library, which needs none. Two Go commands that run at the same time
#   compile the packages that they share twice, so the commands that run together share few packages.
# - The race step compiles, and the measurements of bench/ wait, so they run together.
# - The numbers after -p and -parallel are for a machine with two cores: more tests run at a time than it has cores. Otherwise
#   long chains of imports and tests that wait leave the cores idle.
.PHONY: test
test: ## everything a change must pass
	@tools/step.sh download   $(SUBMAKE) -j2 download compile-standard-library
	@tools/step.sh compile    $(SUBMAKE) -j2 compile download-rest MODULES=.
	@tools/step.sh tools      $(SUBMAKE) -j2 compile test-tools MODULES='test bench tools'
	@tools/step.sh verify     $(SUBMAKE) -j2 check-format verify
	@tools/step.sh lint       $(SUBMAKE) lint
	@tools/step.sh unit       $(SUBMAKE) test-unit
	@tools/step.sh tags       $(SUBMAKE) test-tags
	@tools/step.sh end-to-end $(SUBMAKE) test-end-to-end
	@tools/step.sh race+bench $(SUBMAKE) -j2 race test-bench PACKAGES='./internal/broadcast ./internal/reconcile'
	@tools/step.sh release    $(SUBMAKE) test-release
	@echo "make test: every step passed"

.PHONY: test-tools
test-tools: bin/golangci-lint bin/openapi-gen bin/controller-gen bin/gotestsum

.PHONY: test-unit
test-unit: bin/gotestsum ## the root module's tests, and each benchmark once
	$(COMPILER_GOGC) $(GOTESTSUM) -exec $(CURDIR)/tools/test-and-bench.sh -vet=off -shuffle=on -p 3 -parallel 3 -timeout 15m ./...

# With plain, the server uses no code that only makes it faster. With frozen, it checks that no code changes a value that custom
# resources share. Only the packages with such code, and those that import them, are compiled again.
.PHONY: test-tags
test-tags: bin/gotestsum ## the tests of custom resources with the build tags plain and frozen
	@for tag in plain frozen; do \
		$(COMPILER_GOGC) $(GOTESTSUM) -tags $$tag -vet=off -shuffle=on -p 3 -parallel 3 -timeout 15m ./internal/apiserver/custom/... || exit 1; done

# The race detector waits a second at the end of each process, which no test needs.
.PHONY: race
race: bin/gotestsum ## the root module's tests with the race detector (PACKAGES=./... chooses)
	$(if $(RACE),,@echo "no C compiler: the tests run without the race detector";) \
		$(if $(RACE),CGO_ENABLED=1) GORACE=atexit_sleep_ms=0 GOGC=200 \
		$(GOTESTSUM) $(RACE) -vet=off -shuffle=on -p 3 -parallel 3 -timeout 15m $(PACKAGES)

.PHONY: test-without-server
test-without-server: bin/gotestsum ## the root module's tests that start no server
	$(GOTESTSUM) -vet=off $$(tools/without-server.sh)

# The scripts of kubectl take longest, so they start first.
.PHONY: test-end-to-end
test-end-to-end: bin/gotestsum ## the test module: kubectl scripts, controllers, Helm
	cd test && GOGC=200 $(GOTESTSUM) -vet=off -p 3 -parallel 4 -timeout 15m ./kubectl ./...

.PHONY: test-bench
test-bench: bin/gotestsum ## the bench module: each measurement once, on our server alone
	cd bench && $(GOTESTSUM) -vet=off -timeout 5m ./...

.PHONY: test-release
test-release: bin/gotestsum ## the tools module: the files of a release
	cd tools && $(GOTESTSUM) -vet=off ./...

# The modules that `make compile` needs for the root module.
.PHONY: download
download:
	@go list -deps -test ./... >/dev/null

# The modules that the other modules need, and those that only the tests of dependencies import, which go mod tidy in
# `make verify` needs. If a go.mod is not tidy, that target reports it.
.PHONY: download-rest
download-rest:
	@for gomod in go.mod */go.mod; do go -C $$(dirname $$gomod) mod tidy -diff >/dev/null 2>&1 || true; done

# The parts of the standard library that our modules, the tools and the race step import.
.PHONY: compile-standard-library
compile-standard-library:
	@$(COMPILER_GOGC) go list -export -deps net/http/... go/... encoding/... testing/... >/dev/null
	@$(if $(RACE),CGO_ENABLED=1 $(COMPILER_GOGC) go list -race -export -deps -test ./internal/broadcast net/http log/slog >/dev/null)

.PHONY: compile
compile: ## compile every package and every test, every module
	@for module in $(MODULES); do $(COMPILER_GOGC) go -C $$module list -export -deps -test ./... >/dev/null; done

.PHONY: vet
vet: ## go vet, every module
	@for module in $(MODULES); do go -C $$module vet ./...; done

# One run for the modules that share dependencies: golangci-lint then analyses these once.
.PHONY: lint
lint: bin/golangci-lint bin/go.work ## golangci-lint, every module
	@GOWORK=$(CURDIR)/bin/go.work $(COMPILER_GOGC) bin/golangci-lint run --config .golangci.yml $(SHARING:%=./%/...)
	@cd tools && $(COMPILER_GOGC) ../bin/golangci-lint run --config ../.golangci.yml ./...

# The modules with the same versions of their dependencies, and their workspace.
SHARING := $(filter-out tools,$(MODULES))
bin/go.work: $(SHARING:%=%/go.mod)
	@mkdir -p bin
	@rm -f $@
	@cd bin && GOWORK=off go work init $(SHARING:%=../%)

.PHONY: fmt
fmt: bin/golangci-lint ## format all Go files
	bin/golangci-lint fmt

.PHONY: check-format
check-format: bin/golangci-lint
	@bin/golangci-lint fmt --diff || { echo "not formatted: run make fmt"; exit 1; }

.PHONY: generate
generate: bin/openapi-gen bin/controller-gen ## write every generated file (zz_*, the definition of the controller tests)
	tools/generate.sh .

.PHONY: reference
reference: ## write the generated pages of docs/reference
	go run -buildvcs=false ./cmd/reference docs/reference

.PHONY: verify
verify: bin/openapi-gen bin/controller-gen ## check generated files, go.mod files, and paths of one machine
	tools/verify.sh

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
soak: ## run the soak tests for SOAKTIME (make test runs them for seconds)
	HOLDFAST_SOAK=$(SOAKTIME) go test -run Soak -count 1 -v -timeout 60m \
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
docs: bin/gotestsum ## run the commands of all documents (make test runs those of README)
	cd test && HOLDFAST_DOCUMENTS=all $(GOTESTSUM) -vet=off -count 1 -parallel 3 -timeout 15m -run TestDocuments ./kubectl

.PHONY: console-test
console-test: ## the console in a browser; needs Chromium (HOLDFAST_SCREENSHOTS=$PWD/docs/console writes the pictures of docs/console.md)
	cd test/console && go test -vet=off -count 1 -timeout 15m ./...

.PHONY: figures
figures: build ## measure the figures of the README
	@tools/figures.sh

.PHONY: peer
peer: $(PEER) ## build kube-apiserver and etcd into bin/peer, to measure against

.PHONY: bench-peer
bench-peer: build $(PEER) ## measure our server beside kube-apiserver, and write docs/benchmarks.md (ARGS="-rounds 3" adds flags)
	go -C bench run . compare -peer ../bin/peer -out ../docs/benchmarks.md $(ARGS)

.PHONY: bench-page
bench-page: ## write docs/benchmarks.md and its plots from docs/benchmarks/figures.json
	go -C bench run . compare -from ../docs/benchmarks/figures.json -out ../docs/benchmarks.md

.PHONY: scale
scale: ## write docs/scale.md and its plots from docs/benchmarks/figures.json
	go -C bench run . scale

.PHONY: attack-peer
attack-peer: build $(PEER) ## slow bodies to our server and to kube-apiserver (the figures of docs/security.md)
	go -C bench run . attack -peer ../bin/peer

.PHONY: kudo-peer
kudo-peer: build $(PEER) ## take an operator package through its life on kube-apiserver, with kudo init and kudo manager
	go -C bench run . kudo -peer ../bin/peer

.PHONY: guard-peer
guard-peer: build $(PEER) ## compare our server with kube-apiserver with the guard, policies and CEL, and break the guard (ARGS="-seed 1")
	go -C bench run . guard -peer ../bin/peer $(ARGS)

.PHONY: guard-reviews
guard-reviews: build $(PEER) ## record the reviews of a kube-apiserver, which the tests of the guard replay
	rm -f internal/othercluster/guard/testdata/reviews/*.json
	go -C bench run . guard -peer ../bin/peer -record ../internal/othercluster/guard/testdata/reviews

.PHONY: kubectl-peer
kubectl-peer: build $(PEER) ## compare 300 kubectl commands on our server and on kube-apiserver
	go -C bench run . kubectl -peer ../bin/peer

.PHONY: cluster
cluster: build $(COMPONENTS) ## run kube-controller-manager, kube-scheduler and hollow kubelets on our server (docs/cluster.md)
	go -C bench run . cluster -peer ../bin/peer $(ARGS)

.PHONY: cluster-peer
cluster-peer: build $(COMPONENTS) $(PEER) ## measure our server and kube-apiserver with 100 nodes and 3,000 pods
	go -C bench run . cluster -peer ../bin/peer -nodes 100 -pods 3000 $(ARGS)

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

# Components of Kubernetes and etcd, from the module proxy, at the versions of bench/peer/go.mod. `make peer` builds two of them;
# `make bin/peer/kube-scheduler` builds another. Clients complain about a Kubernetes component without a version.
KUBERNETES_VERSION = $(shell awk '$$1 == "k8s.io/kubernetes" { print $$2; exit }' bench/peer/go.mod)
KUBERNETES_LDFLAGS = $(foreach module,component-base client-go/pkg,-X k8s.io/$(module)/version.gitVersion=$(KUBERNETES_VERSION))
bin/peer/kube-apiserver bin/peer/kube-controller-manager bin/peer/kube-scheduler bin/peer/kubemark: bench/peer/go.mod bench/peer/go.sum
	$(COMPILER_GOGC) go -C bench/peer build -ldflags '-s -w $(KUBERNETES_LDFLAGS)' -o ../../$@ \
		k8s.io/kubernetes/cmd/$(@F)
	@touch $@

bin/peer/etcd: bench/peer/go.mod bench/peer/go.sum
	$(COMPILER_GOGC) go -C bench/peer build -ldflags '-s -w' -o ../../$@ go.etcd.io/etcd/server/v3
	@touch $@
