#!/usr/bin/env bash
# fuzz.sh TIME REGEXP runs each fuzz target whose name matches REGEXP for TIME, and stops at the first one that fails. Run it at
# the root of the checkout.
set -euo pipefail

time=$1
regexp=$2
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# Go before 1.27 sometimes fails a target only because its time is over (go.dev/issue/75804). Its output then is "context deadline
# exceeded" and nothing else. A real failure also prints the input that caused it.
only_time_was_over() {
	grep -qx '    context deadline exceeded' "$1" &&
		! grep -qE 'Failing input written|panic:|fatal error|_test\.go:[0-9]+:|hung or terminated' "$1"
}

targets=0
while IFS=: read -r file declaration; do
	name=${declaration#func }
	name=${name%%(*}
	[[ $name =~ $regexp ]] || continue
	targets=$((targets + 1))
	echo "fuzz: $name in $(dirname "$file")"
	if ! go test -vet=off -run '^$' -fuzz "^$name\$" -fuzztime "$time" "./$(dirname "$file")" >"$log" 2>&1; then
		if ! only_time_was_over "$log"; then
			cat "$log"
			exit 1
		fi
		echo "fuzz: $name: its time is over, no input failed"
	fi
	grep -E '^fuzz: elapsed' "$log" | tail -n 1 || true
done < <(grep -rE '^func Fuzz[A-Z0-9_][A-Za-z0-9_]*\(' --include='*_test.go' --exclude-dir=test . | sort)
echo "fuzz: $targets targets, $time each"
