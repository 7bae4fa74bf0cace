#!/usr/bin/env bash
# test-and-bench.sh BINARY FLAGS... runs the tests of one package, and then each of its benchmarks once, in a short form, to
# keep them working. `go test -exec` calls it in the directory of the package. A `go test -bench` of its own would link every
# test binary a second time. The output of the benchmarks is printed only if one fails.
set -uo pipefail

# Less garbage collection, but more than in the linker: a test limits the memory of a server.
export GOGC=200

"$@" || exit
grep -qsE '^func Benchmark' ./*_test.go || exit 0
out=$("$1" -test.run '^$' -test.bench . -test.benchtime 1x -test.short -test.timeout 5m 2>&1) && exit
echo "$out"
exit 1
