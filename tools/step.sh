#!/usr/bin/env bash
# step.sh NAME COMMAND... runs one step of a longer job, and prints whether it succeeded and how long it took.
set -uo pipefail

name=$1
shift
echo "--- $name"
SECONDS=0
"$@"
status=$?
if [ "$status" -ne 0 ]; then
	echo "--- $name: FAILED after ${SECONDS}s" >&2
	exit "$status"
fi
echo "--- $name: ok (${SECONDS}s)"
