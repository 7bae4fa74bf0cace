package heap_test

import (
	"runtime/debug"
	"testing"
	"testing/fstest"

	"holdfast.dev/holdfast/internal/cli/heap"
)

// TestLimit reads the files of cgroups. It changes a setting of the process and sets it back.
func TestLimit(t *testing.T) {
	const gigabyte = 1 << 30
	const own, v2, v1 = "proc/self/cgroup", "sys/fs/cgroup/", "sys/fs/cgroup/memory/"
	tests := map[string]struct {
		files map[string]string
		env   string
		want  int64
	}{
		"a container": {files: map[string]string{own: "0::/\n", v2 + "memory.max": "1000000000\n"}, want: 900_000_000},
		"a service of systemd": {files: map[string]string{
			own: "0::/system.slice/holdfast.service\n", v2 + "system.slice/holdfast.service/memory.max": "2000000000\n",
			v2 + "system.slice/memory.max": "max\n",
		}, want: 1_800_000_000},
		"a smaller limit around it": {files: map[string]string{
			own: "0::/pods/one\n", v2 + "pods/one/memory.max": "2000000000\n", v2 + "pods/memory.max": "1000000000\n",
		}, want: 900_000_000},
		"version 1": {files: map[string]string{
			own: "9:cpu,cpuacct:/one\n5:memory:/one\n0::/\n", v1 + "one/memory.limit_in_bytes": "1000000000\n",
			v1 + "memory.limit_in_bytes": "9223372036854771712\n",
		}, want: 900_000_000},
		"version 1, with the path of the host": {files: map[string]string{
			own: "5:memory:/docker/abc\n", v1 + "memory.limit_in_bytes": "1000000000\n",
		}, want: 900_000_000},
		"version 1 without a limit": {files: map[string]string{own: "5:memory:/\n", v1 + "memory.limit_in_bytes": "9223372036854771712\n"}},
		"no limit":                  {files: map[string]string{own: "0::/\n", v2 + "memory.max": "max\n"}},
		"the root of a host":        {files: map[string]string{own: "0::/\n"}},
		"no cgroups":                {},
		"other text":                {files: map[string]string{own: "x\n0::/\n", v2 + "memory.max": "much\n"}},
		"the user has set a limit":  {files: map[string]string{own: "0::/\n", v2 + "memory.max": "1000000000\n"}, env: "64MiB"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Setenv("GOMEMLIMIT", test.env)
			defer debug.SetMemoryLimit(debug.SetMemoryLimit(10 * gigabyte))
			root := fstest.MapFS{}
			for file, text := range test.files {
				root[file] = &fstest.MapFile{Data: []byte(text)}
			}
			if got := heap.LimitOf(root); got != test.want {
				t.Errorf("the limit is %d, want %d", got, test.want)
			}
			inForce := test.want
			if inForce == 0 {
				inForce = 10 * gigabyte
			}
			if got := debug.SetMemoryLimit(-1); got != inForce {
				t.Errorf("Go has the limit %d, want %d", got, inForce)
			}
		})
	}
}
