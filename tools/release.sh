#!/usr/bin/env bash
# release.sh VERSION DIR writes the files of a release to DIR. It builds an export of the last commit in a temporary folder. The
# time of the commit is the time of every file. Run it at the root of the checkout.
set -euo pipefail

version=$1
mkdir -p "$2"
out=$(cd "$2" && pwd)
commit=$(git rev-parse HEAD)
if [ -n "$(git status --porcelain)" ]; then
	echo "release: files that are not committed are left out" >&2
fi

source=$(mktemp -d)
trap 'rm -rf "$source"' EXIT
git archive "$commit" | tar -x -C "$source"
rm -f "$out"/*
go -C "$source/tools" run ./release -version "${version%-dirty}" -commit "$commit" -date "$(git log -1 --format=%ct)" \
	-source "$source" -out "$out"
ls -l "$out"
