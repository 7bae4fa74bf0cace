package heap

import (
	"io/fs"
	"math"
	"os"
	"path"
	"runtime/debug"
	"strconv"
	"strings"
)

// limitPercent is the part of the memory of a cgroup that Go may use. The rest is for what Go does not count, such as the pages of files.
const limitPercent = 90

// Limit sets the soft memory limit of Go to 90% of the memory that the cgroup of the process may use, as that of a container. Near
// to the limit, Go collects garbage more often; without it, the kernel kills the process. Limit returns the limit in bytes. It does
// nothing and returns 0 if the environment sets GOMEMLIMIT, or if there is no limit.
func Limit() int64 { return limit(os.DirFS("/")) }

// limit is Limit for the files of root.
func limit(root fs.FS) int64 {
	if os.Getenv("GOMEMLIMIT") != "" {
		return 0
	}
	bytes := memoryOf(root)
	if bytes == math.MaxInt64 {
		return 0
	}
	bytes = bytes / 100 * limitPercent
	debug.SetMemoryLimit(bytes)
	return bytes
}

// memoryOf returns how many bytes the cgroup of the process may use, math.MaxInt64 if there is no limit. Version 2 of cgroups has
// one hierarchy, and version 1 has one for the memory.
func memoryOf(root fs.FS) int64 {
	least := int64(math.MaxInt64)
	groups, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return least // another system than Linux
	}
	for line := range strings.Lines(string(groups)) {
		// number:controllers:path
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		switch {
		case len(parts) < 3:
		case parts[0] == "0" && parts[1] == "":
			least = min(least, leastOf(root, "sys/fs/cgroup", parts[2], "memory.max"))
		case parts[1] == "memory":
			least = min(least, leastOf(root, "sys/fs/cgroup/memory", parts[2], "memory.limit_in_bytes"))
		}
	}
	return least
}

// leastOf returns the least limit of a cgroup and of those around it. In a container, the path may be that of the host, and the
// directory of the container is the mount itself.
func leastOf(root fs.FS, mount, group, file string) int64 {
	least := int64(math.MaxInt64)
	for at := path.Clean("/" + group); ; at = path.Dir(at) {
		if text, err := fs.ReadFile(root, path.Join(mount, at, file)); err == nil {
			// Version 2 says max if there is no limit, and version 1 the largest number of whole pages.
			const pages = math.MaxInt64 &^ (1<<16 - 1)
			if n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && n > 0 && n < pages {
				least = min(least, n)
			}
		}
		if at == "/" {
			return least
		}
	}
}
