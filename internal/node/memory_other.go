//go:build !linux

package node

// inMemory always reports a disk: the file system cannot be determined on this
// operating system.
func inMemory(string) (bool, error) { return false, nil }

// fileSystemSize returns 0: the size of a file system is not known on this operating
// system.
func fileSystemSize(string) int64 { return 0 }

// totalMemory returns 0: the memory of the host is not known on this operating
// system.
func totalMemory() int64 { return 0 }
