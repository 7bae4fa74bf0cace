#!/usr/bin/env bash
# release-program.sh COMMIT FILE: build the program of a commit or tag into FILE, in a work tree of its own.
set -euo pipefail
tree=$(mktemp -d)
trap 'git worktree remove --force "$tree"' EXIT
git worktree add --quiet --detach "$tree" "$1"
output=$(realpath "$2")
cd "$tree"
go build -buildvcs=false -o "$output" ./cmd/holdfast
