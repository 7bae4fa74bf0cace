#!/usr/bin/env bash
# verify.sh checks what no compiler checks:
#
# - the generated files are what `make generate` writes;
# - every go.mod is tidy, and the root module and the test module use the same versions of their shared dependencies. The check
#   leaves out bench/peer/go.mod, because Go would download Kubernetes for it;
# - no file contains a path that exists on one machine only.
#
# It reports everything that it finds. Run it at the root of the checkout.
set -euo pipefail

failed=0
complain() {
	echo "verify: $*" >&2
	failed=1
}

fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT
if ! tools/generate.sh "$fresh"; then
	complain "make generate does not run"
fi
while read -r file; do
	diff -u "$file" "$fresh/$file" | head -n 40 || complain "$file is not what its sources give: run make generate"
done < <(cd "$fresh" && find . -type f)

# A generated file that no generator writes is left over, or was made by hand.
while read -r file; do
	[ -e "$fresh/$file" ] || complain "$file is named as generated, but make generate does not write it"
done < <(git ls-files --cached --others --exclude-standard -- 'zz_*' '*/zz_*')

for gomod in go.mod */go.mod; do
	[ -e "$gomod" ] || continue
	go -C "$(dirname "$gomod")" mod tidy -diff || complain "$gomod is not tidy: run go mod tidy in its directory"
done

# With another version of one dependency, Go compiles everything that depends on it twice.
dependencies() {
	go -C "$1" list -deps -test -f '{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}{{end}}{{end}}' ./... | LC_ALL=C sort -u
}
while read -r module root_version test_version _; do
	complain "$module is $root_version in go.mod and $test_version in test/go.mod: go get the newer version in both"
done < <(LC_ALL=C join <(dependencies .) <(dependencies test) | awk '$2 != $3')

here=$(printf '%s' "$PWD" | sed 's/[][\.*^$+?(){}|]/\\&/g')
paths="(^|[^A-Za-z0-9_.-])($here|/home/[a-z][a-z0-9_-]*|/Users/[A-Za-z][A-Za-z0-9_-]*|/root)/|/go/pkg/[m]od/"
status=0
git grep --untracked -nIE "$paths" || status=$?
case $status in
0) complain "the lines above contain paths of one machine" ;;
1) ;;
*) complain "git grep did not run: the tree was not searched for paths" ;;
esac

exit "$failed"
