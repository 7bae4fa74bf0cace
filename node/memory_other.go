//go:build !linux

package node

// inMemory always reports a disk: the file system cannot be determined on this
// operating system.
func inMemory(string) (bool, error) { return false, nil }

// totalMemory returns 0: the memory of the host is not known on this operating
// system.
func totalMemory() int64 { return 0 }
