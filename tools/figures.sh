#!/usr/bin/env bash
# figures.sh prints the figures of the README: the time until a new server is ready, its memory at rest and the size of the
# binary. Run it at the root of the checkout after make build, on a machine that is otherwise idle.
set -euo pipefail

dir=$(mktemp -d)
trap 'kill "$pid" 2>/dev/null || true; rm -rf "$dir"' EXIT

best=
for round in 1 2 3 4 5; do
	mkfifo "$dir/out$round"
	start=$(date +%s%N)
	bin/holdfast serve --data-dir "$dir/data$round" --secure-port 0 >"$dir/out$round" &
	pid=$!
	read -r _ <"$dir/out$round"
	took=$((($(date +%s%N) - start) / 1000000))
	if [ -z "$best" ] || [ "$took" -lt "$best" ]; then best=$took; fi
	[ "$round" -eq 5 ] && break
	kill "$pid"
	wait "$pid" || true
done
sleep 10
rss=$(awk '/^VmRSS/ { print int($2 / 1024) }' "/proc/$pid/status")
size=$(($(stat -c %s bin/holdfast) / 1000000))
printf 'time to ready, first start, best of five: %s ms\nmemory at rest: %s MB\nbinary: %s MB\n' "$best" "$rss" "$size"
