package node

import "syscall"

// The types of file systems in memory, as returned by statfs(2).
const (
	tmpfs = 0x01021994
	ramfs = 0x858458f6
)

// inMemory reports whether a directory is on a file system in memory.
func inMemory(dir string) (bool, error) {
	var stat syscall.Statfs_t
	if err := syscall.Statfs(dir, &stat); err != nil {
		return false, err
	}
	// The integer type of this field depends on the architecture.
	kind := uint32(stat.Type)
	return kind == tmpfs || kind == ramfs, nil
}

// fileSystemSize returns the size in bytes of the file system of a directory, or 0 if it is
// not known.
func fileSystemSize(dir string) int64 {
	var stat syscall.Statfs_t
	if err := syscall.Statfs(dir, &stat); err != nil {
		return 0
	}
	return int64(stat.Blocks) * int64(stat.Bsize) //nolint:unconvert // the integer type depends on the architecture
}

// totalMemory returns the memory of the host in bytes, or 0 if it is not known.
func totalMemory() int64 {
	var info syscall.Sysinfo_t
	if err := syscall.Sysinfo(&info); err != nil {
		return 0
	}
	return int64(info.Totalram) * int64(info.Unit)
}
