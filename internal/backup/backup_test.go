package backup_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast.dev/holdfast/internal/backup"
)

// write returns a backup of a key and a stream.
func write(t testing.TB, stream []byte) []byte {
	t.Helper()
	var archive bytes.Buffer
	w := backup.NewWriter(&archive, backup.Info{Version: "1.2.3", Created: time.Unix(1700000000, 0).UTC()})
	if err := w.File("pki/ca.key", []byte("key")); err != nil {
		t.Fatal(err)
	}
	if err := w.Stream("etcd.db", bytes.NewReader(stream)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return archive.Bytes()
}

// TestExtract checks that streams of every length around the size of a part come back.
func TestExtract(t *testing.T) {
	for _, length := range []int{0, 1, 1<<20 - 1, 1 << 20, 1<<20 + 1, 3 << 20} {
		stream := bytes.Repeat([]byte("abcdefg"), length/7+1)[:length]
		dir := t.TempDir()
		info, err := backup.Extract(bytes.NewReader(write(t, stream)), dir)
		if err != nil {
			t.Fatal(err)
		}
		if info.Version != "1.2.3" || info.Size() != int64(length+3) {
			t.Errorf("%d: version %q, size %d", length, info.Version, info.Size())
		}
		for name, want := range map[string][]byte{"etcd.db": stream, "pki/ca.key": []byte("key")} {
			got, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("%d: %s has %d bytes: %v", length, name, len(got), err)
			}
			if stat, err := os.Stat(filepath.Join(dir, name)); err != nil || stat.Mode().Perm() != 0o600 {
				t.Errorf("%s: %v, %v", name, stat, err)
			}
		}
	}
}

// TestChangedContent checks the message about content that was changed.
func TestChangedContent(t *testing.T) {
	damaged := bytes.Replace(write(t, []byte("the objects")), []byte("the objects"), []byte("THE objects"), 1)
	_, err := backup.Check(bytes.NewReader(damaged))
	if err == nil || !strings.Contains(err.Error(), "etcd.db/000000 does not have the content that was written") {
		t.Error(err)
	}
}

// FuzzRead checks that no input makes Extract write outside of its directory.
func FuzzRead(f *testing.F) {
	f.Add([]byte("no archive"))
	f.Fuzz(func(t *testing.T, archive []byte) {
		root := t.TempDir()
		dir := filepath.Join(root, "dir")
		_, _ = backup.Extract(bytes.NewReader(archive), dir)
		entries, err := os.ReadDir(root)
		if err != nil || len(entries) > 1 || len(entries) == 1 && entries[0].Name() != "dir" {
			t.Errorf("%v, %v", entries, err)
		}
	})
}
