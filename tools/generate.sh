#!/usr/bin/env bash
# generate.sh DIR writes every generated file below DIR, at the path that it has in the tree: generate.sh . updates the tree.
# Run it at the root of the checkout.
set -euo pipefail

mkdir -p "$1"
out=$(cd "$1" && pwd)
report=$(mktemp)
trap 'rm -f "$report"' EXIT

# The OpenAPI definitions of the built-in kinds, from the k8s.io packages at the versions of go.mod.
mkdir -p "$out/internal/native/openapi"
bin/openapi-gen \
	--output-dir "$out/internal/native/openapi" \
	--output-pkg holdfast.dev/holdfast/internal/native/openapi \
	--output-file zz_generated.openapi.go \
	--go-header-file /dev/null \
	--report-filename "$report" \
	$(grep -E '^[a-z]' internal/native/openapi/packages.txt)

# The DeepCopy methods of every package that has a marker for controller-gen's object generator. Packages in testdata are input of
# tests and are never compiled.
controller_gen=$PWD/bin/controller-gen
while read -r package; do
	mkdir -p "$out/$package"
	module=.
	case $package in test/*) module=test ;; esac
	(cd "$module" && "$controller_gen" object paths="$OLDPWD/$package" output:object:dir="$out/$package")
done < <(git grep --untracked -lE '^// \+kubebuilder:object:' -- '*.go' ':!*/testdata/*' | xargs -n1 dirname | sort -u)

# The reference of commands and names.
mkdir -p "$out/docs/reference"
go run -buildvcs=false ./cmd/reference "$out/docs/reference"

# The picture of a write.
go -C tools run ./picture < docs/write.txt > "$out/docs/write.svg"

# The terminal in README, with the five protections. `make docs` records what the demo prints.
go -C tools run ./terminal -chapters 5 < docs/demo.txt > "$out/docs/demo.svg"

# The CustomResourceDefinition that the controller tests install.
mkdir -p "$out/test/controller/testdata"
(cd test && "$controller_gen" crd paths=./controller/berth output:crd:dir="$out/test/controller/testdata")

# The kind of ImmutabilityPolicies, which the guard's installer and its chart have too, and the objects of the guard that the
# chart has without change.
mkdir -p "$out/dist/helm/holdfast-guard/templates" "$out/dist/helm/holdfast-guard/crds" "$out/internal/othercluster/guard/setup/objects"
cp internal/policy/kind.yaml "$out/dist/helm/holdfast-guard/crds"
cp internal/policy/kind.yaml "$out/internal/othercluster/guard/setup/objects"
cp internal/othercluster/guard/setup/objects/cluster.yaml internal/othercluster/guard/setup/objects/keys.yaml "$out/dist/helm/holdfast-guard/templates"
