package node_test

import (
	"io/fs"
	"path/filepath"
	"slices"
	"testing"

	"holdfast.dev/holdfast/node"
	"holdfast.dev/holdfast/projection"
)

// noted is the file system of the host, with a note of what was made and what
// is on disk for sure.
type noted struct {
	projection.OS
	made, synced []string
}

// Mkdir implements projection.FS.
func (n *noted) Mkdir(path string, mode fs.FileMode) error {
	n.made, n.synced = append(n.made, path), slices.DeleteFunc(n.synced, func(dir string) bool { return dir == filepath.Dir(path) })
	return n.OS.Mkdir(path, mode)
}

// SyncDir implements projection.FS.
func (n *noted) SyncDir(path string) error {
	n.synced = append(n.synced, path)
	return n.OS.SyncDir(path)
}

// TestDirectoriesAreOnDisk: what leads to a volume is on disk when the volume is.
func TestDirectoriesAreOnDisk(t *testing.T) {
	root := t.TempDir()
	disk := &noted{}
	dir := filepath.Join(root, "pods")
	volumes, err := node.OpenVolumes(dir, disk)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(disk.synced, root) || !slices.Contains(disk.synced, dir) {
		t.Errorf("after the start %v are on disk", disk.synced)
	}
	payload := projection.Payload{"app.conf": {Data: []byte("one"), Mode: 0o644}}
	if _, err := volumes.Write("uid", "conf", payload, nil); err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(disk.made, filepath.Join(dir, "uid")) {
		t.Errorf("made %v", disk.made)
	}
	for _, path := range disk.made {
		if !slices.Contains(disk.synced, filepath.Dir(path)) {
			t.Errorf("%s was made, and after a crash it may not be there", path)
		}
	}
}
