package node_test

import (
	"io/fs"
	"path/filepath"
	"slices"
	"testing"

	"holdfast.dev/holdfast/internal/node"
	"holdfast.dev/holdfast/internal/projection"
)

// recordingFS is the file system of the host. It records which directories were created, and
// which were synced after their last change.
type recordingFS struct {
	projection.OS
	created, synced []string
}

// Mkdir implements projection.FS.
func (n *recordingFS) Mkdir(path string, mode fs.FileMode) error {
	n.created = append(n.created, path)
	n.synced = slices.DeleteFunc(n.synced, func(dir string) bool { return dir == filepath.Dir(path) })
	return n.OS.Mkdir(path, mode)
}

// SyncDir implements projection.FS.
func (n *recordingFS) SyncDir(path string) error {
	n.synced = append(n.synced, path)
	return n.OS.SyncDir(path)
}

// TestDirectoriesAreSynced checks that the parent of every directory that is created for a volume
// is synced to disk.
func TestDirectoriesAreSynced(t *testing.T) {
	root := t.TempDir()
	disk := &recordingFS{}
	dir := filepath.Join(root, "pods")
	volumes, err := node.OpenVolumes(dir, disk)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(disk.synced, root) || !slices.Contains(disk.synced, dir) {
		t.Errorf("after the start, only %v are synced", disk.synced)
	}
	payload := projection.Payload{"app.conf": {Data: []byte("one"), Mode: 0o644}}
	if _, err := volumes.Write(node.VolumeOwner{UID: "uid"}, "conf", payload); err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(disk.created, filepath.Join(dir, "uid")) {
		t.Errorf("created %v", disk.created)
	}
	for _, path := range disk.created {
		if !slices.Contains(disk.synced, filepath.Dir(path)) {
			t.Errorf("the parent of %s was not synced", path)
		}
	}
}
