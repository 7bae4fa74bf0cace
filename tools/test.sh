#!/usr/bin/env bash
# test.sh STEP... runs steps of the tests, and stops at the first one that fails. Without arguments it runs all steps that a change
# must pass. Run it at the root of the checkout, through `make test`. CONTRIBUTING.md says why the steps have this form.
set -euo pipefail

# The modules with our Go code: the root, the end-to-end tests, the measurements beside kube-apiserver, and the release.
modules=(. test bench tools)

compiler() { GOGC=400 go "$@"; }

# tests MODULE FLAGS... runs tests of a module. gotestsum prints one line per package and the output of failed tests.
tests() {
	local module=$1 gotestsum=$PWD/bin/gotestsum
	shift
	(cd "$module" && "$gotestsum" --format pkgname-and-test-fails --format-hide-empty-pkg --hide-summary skipped -- -vet=off "$@")
}

# both runs two commands at the same time. It fails if one of them does.
both() {
	"$1" &
	local first=$!
	"$2" &
	local second=$! failed=0
	wait "$first" || failed=1
	wait "$second" || failed=1
	return "$failed"
}

# With a C compiler, Go has the race detector.
has_race() { [ "$(env -u CGO_ENABLED go env CGO_ENABLED)" = 1 ]; }

# The modules that the root module needs.
modules_of_root() { go list -deps -test ./... >/dev/null; }

# The parts of the standard library that our modules, the tools and the race step import. They need no module.
standard_library() {
	compiler list -export -deps net/http/... go/... encoding/... testing/... >/dev/null
	if has_race; then
		CGO_ENABLED=1 compiler list -race -export -deps -test ./internal/broadcast net/http log/slog >/dev/null
	fi
}

# The modules that the other modules need, and those that only the tests of dependencies import, which go mod tidy in
# verify.sh needs. If a go.mod is not tidy, that script reports it.
modules_of_rest() {
	local file
	for file in go.mod */go.mod; do go -C "$(dirname "$file")" mod tidy -diff >/dev/null 2>&1 || true; done
}

compile_root() { compiler list -export -deps -test ./... >/dev/null; }
compile_rest() {
	local module
	for module in "${modules[@]:1}"; do compiler -C "$module" list -export -deps -test ./... >/dev/null; done
}

build_tools() { make --no-print-directory bin/.tools; }
check_format() { bin/golangci-lint fmt --diff || { echo "not formatted: run make fmt" && return 1; }; }
race_short() { make --no-print-directory race PACKAGES='./internal/broadcast ./internal/reconcile'; }
measurements() { tests bench -timeout 10m ./...; }

step_download() { both modules_of_root standard_library; }
step_compile() { both compile_root modules_of_rest; }
step_tools() { both compile_rest build_tools; }
step_format() { check_format; }
step_verify() { both check_format tools/verify.sh; }
step_lint() { make --no-print-directory lint; }
step_unit() { GOGC=400 tests . -exec "$PWD/tools/test-and-bench.sh" -shuffle=on -p 3 -parallel 3 -timeout 30m ./...; }

# The unit tests that start no server.
step_quick() {
	local packages
	mapfile -t packages < <(tools/without-server.sh)
	tests . "${packages[@]}"
}

# With plain, the server uses no code that only makes it faster. With frozen, it checks that no code changes a value that custom
# resources share. Only the packages with such code, and those that import them, are compiled again.
step_tags() {
	local tag
	for tag in plain frozen; do
		GOGC=400 tests . -tags "$tag" -shuffle=on -p 3 -parallel 3 -timeout 30m ./internal/apiserver/custom/...
	done
	# The code of the failpoints themselves. The faults build the whole program with this tag.
	GOGC=400 tests . -tags failpoints ./internal/failpoint
}

# The scripts of kubectl take longest, so they start first.
step_end-to-end() { GOGC=200 tests test -p 3 -parallel 4 -timeout 30m ./kubectl ./...; }

# The race detector compiles, and the measurements wait, so they run together.
step_race+bench() { both race_short measurements; }
step_release() { tests tools ./...; }

# The console in a browser. It needs Chromium, so it is not among the steps of every change.
step_console() { tests test/console -count 1 -timeout 30m ./...; }

if [ "${1-}" = --one ]; then
	"step_$2"
	exit
fi
steps=("$@")
if [ ${#steps[@]} -eq 0 ]; then
	steps=(download compile tools verify lint unit tags end-to-end race+bench release)
fi
for step in "${steps[@]}"; do
	if ! declare -F "step_$step" >/dev/null; then
		echo "test.sh: there is no step $step" >&2
		exit 2
	fi
	echo "--- $step"
	SECONDS=0
	status=0
	# A shell of its own, so that the first failed command ends the step.
	"$0" --one "$step" || status=$?
	if [ "$status" -ne 0 ]; then
		echo "--- $step: FAILED after ${SECONDS}s" >&2
		exit "$status"
	fi
	echo "--- $step: ok (${SECONDS}s)"
done
