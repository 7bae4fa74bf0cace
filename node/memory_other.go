//go:build !linux

package node

// inMemory reports that a directory is on disk: nothing else is known here.
func inMemory(string) (bool, error) { return false, nil }

// totalMemory is the memory of the host in bytes, 0 if it is not known.
func totalMemory() int64 { return 0 }
