#!/usr/bin/env bash
# generate.sh DIR writes every generated file below DIR, at its place in the tree. Run at the root of the checkout.
set -euo pipefail

out=$1
report=$(mktemp)
trap 'rm -f "$report"' EXIT

# The OpenAPI definitions of the built-in kinds, from the k8s.io packages at the versions of go.mod.
mkdir -p "$out/native/openapi"
bin/openapi-gen \
	--output-dir "$out/native/openapi" \
	--output-pkg holdfast.dev/holdfast/native/openapi \
	--output-file zz_generated.openapi.go \
	--go-header-file /dev/null \
	--report-filename "$report" \
	$(grep -E '^[a-z]' native/openapi/packages.txt)

# The definition and the copies of the API that the controller tests have.
mkdir -p "$out/test/controller/berth" "$out/test/controller/testdata"
out=$(cd "$out" && pwd)
(cd test && ../bin/controller-gen object crd paths=./controller/berth \
	output:crd:dir="$out/test/controller/testdata" output:object:dir="$out/test/controller/berth")
