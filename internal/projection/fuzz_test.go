package projection_test

import (
	"os"
	"path/filepath"
	"testing"

	"holdfast.dev/holdfast/internal/projection"
)

// FuzzWrite writes two files with arbitrary paths. Write must either return an error or
// write files that can be read back, and must never write outside of the volume.
func FuzzWrite(f *testing.F) {
	for _, paths := range [][2]string{
		{"a", "b"}, {"a", "a/b"}, {"../a", "b"}, {"/etc/x", "b"}, {"..data", "b"}, {"a/../../b", "c"},
		{"a//b", "c"}, {".", "a"}, {"a/b/c", "a/b/d"}, {"..data_tmp", "x"}, {"a\x00", "b"},
	} {
		f.Add(paths[0], paths[1], []byte("one"), uint32(0o644))
	}
	f.Fuzz(func(t *testing.T, first, second string, data []byte, mode uint32) {
		outside := t.TempDir()
		dir := filepath.Join(outside, "volume")
		payload := projection.Payload{
			first:  {Data: data, Mode: os.FileMode(mode).Perm() | 0o400},
			second: {Data: []byte(first), Mode: 0o600},
		}
		_, err := projection.Writer{}.Write(dir, payload)
		entries, readErr := os.ReadDir(outside)
		if readErr != nil {
			t.Fatal(readErr)
		}
		for _, entry := range entries {
			if entry.Name() != "volume" {
				t.Fatalf("%q and %q put %s outside", first, second, entry.Name())
			}
		}
		if payload.Check() != nil {
			if err == nil {
				t.Fatalf("%q and %q are invalid and were written", first, second)
			}
			return
		}
		if err != nil {
			return // the file system may reject other names as well
		}
		got, err := projection.Writer{}.Read(dir)
		if err != nil || !got.Equal(payload) {
			t.Fatalf("%q and %q: %v, %v", first, second, got, err)
		}
		for name := range payload {
			if read, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(read) != string(payload[name].Data) {
				t.Fatalf("%q: %q, %v", name, read, err)
			}
		}
	})
}
