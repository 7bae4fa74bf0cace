package backup_test

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast.dev/holdfast/internal/backup"
)

// block is the size of the blocks of a tar archive.
const block = 512

// entries returns the entries of a backup, and what follows them: two blocks of zeros.
func entries(t testing.TB, whole []byte) (all [][]byte, end []byte) {
	t.Helper()
	for rest := whole; ; {
		if bytes.Count(rest[:block], []byte{0}) == block {
			return all, rest
		}
		size := 0
		for _, digit := range rest[124:135] {
			size = size*8 + int(digit-'0')
		}
		length := block + (size+block-1)/block*block
		all, rest = append(all, rest[:length]), rest[length:]
	}
}

// TestCutAndExtended checks that a backup without its last bytes is an error, and so is one with other bytes
// than zeros behind its end.
func TestCutAndExtended(t *testing.T) {
	whole := write(t, []byte("the objects"))
	for length := range whole {
		if _, err := backup.Check(bytes.NewReader(whole[:length])); err == nil {
			t.Errorf("cut after %d of %d bytes: no error", length, len(whole))
		}
	}
	for _, added := range []string{"x", "\x00x", strings.Repeat("\x00", 3*block) + "x", string(whole), string(whole[:block])} {
		if _, err := backup.Check(strings.NewReader(string(whole) + added)); err == nil {
			t.Errorf("with %d more bytes: no error", len(added))
		}
	}
	// Programs that copy blocks fill the last one with zeros.
	if _, err := backup.Check(strings.NewReader(string(whole) + strings.Repeat("\x00", 10240))); err != nil {
		t.Errorf("with zeros behind the end: %v", err)
	}
}

// TestChangedBytes checks that a backup with a changed byte is an error, wherever the byte is.
func TestChangedBytes(t *testing.T) {
	whole := write(t, []byte("the objects"))
	for i := range whole {
		for _, change := range []byte{1, 0x20, 0x80} {
			damaged := bytes.Clone(whole)
			damaged[i] ^= change
			if info, err := backup.Check(bytes.NewReader(damaged)); err == nil {
				t.Errorf("byte %d changed from %q to %q: no error, %+v", i, whole[i], damaged[i], info)
			}
		}
	}
}

// TestChangedEntries checks that a backup with its entries in another order, or with other entries, is an
// error.
func TestChangedEntries(t *testing.T) {
	all, end := entries(t, write(t, bytes.Repeat([]byte("x"), 3<<20)))
	if len(all) != 5 {
		t.Fatalf("%d entries, want a key, three parts and the index", len(all))
	}
	damaged := map[string][][]byte{
		"nothing":                             {},
		"only the index":                      {all[4]},
		"the index twice":                     append(slices.Clone(all), all[4]),
		"an entry behind the index":           append(slices.Clone(all), all[0]),
		"the index first":                     {all[4], all[0], all[1], all[2], all[3]},
		"the index first and last":            append([][]byte{all[4]}, all...),
		"without the index":                   all[:4],
		"the first entry twice":               append([][]byte{all[0]}, all...),
		"the last part twice":                 {all[0], all[1], all[2], all[3], all[3], all[4]},
		"without the key":                     all[1:],
		"without the last part":               {all[0], all[1], all[2], all[4]},
		"without the middle part":             {all[0], all[1], all[3], all[4]},
		"the key behind the parts":            {all[1], all[2], all[3], all[0], all[4]},
		"parts with the same content swapped": {all[0], all[2], all[1], all[3], all[4]},
	}
	for name, parts := range damaged {
		if _, err := backup.Check(bytes.NewReader(slices.Concat(append(slices.Clone(parts), end)...))); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := backup.Check(bytes.NewReader(slices.Concat(append(slices.Clone(all), end)...))); err != nil {
		t.Errorf("undamaged: %v", err)
	}
}

// FuzzDamage checks that no change of a backup is accepted: a piece of it is replaced by other bytes.
func FuzzDamage(f *testing.F) {
	whole := write(f, []byte("the objects"))
	f.Add(0, 0, []byte{})
	f.Add(len(whole), 0, whole)
	f.Add(len(whole)-2*block, 2*block, []byte{})
	f.Add(0, 2*block, []byte{})
	f.Fuzz(func(t *testing.T, from, length int, piece []byte) {
		if from < 0 || length < 0 || from > len(whole) || length > len(whole)-from {
			t.Skip()
		}
		damaged := slices.Concat(whole[:from], piece, whole[from+length:])
		_, err := backup.Check(bytes.NewReader(damaged))
		same := bytes.Equal(bytes.TrimRight(damaged, "\x00"), bytes.TrimRight(whole, "\x00")) && len(damaged) >= len(whole)
		if (err == nil) != same {
			t.Errorf("%d bytes at %d replaced by %q: %v", length, from, piece, err)
		}
	})
}

// TestOlderBackup checks that a backup of the first versions, whose index has no digest, is still accepted.
func TestOlderBackup(t *testing.T) {
	content := []byte("key")
	sum := sha256.Sum256(content)
	index := fmt.Sprintf(`{
  "format": 1,
  "version": "0.1.0",
  "created": "2023-11-14T22:13:20Z",
  "files": [
    {
      "name": "pki/ca.key",
      "size": 3,
      "sha256": "%x"
    }
  ]
}`, sum)
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	for _, entry := range []struct{ name, content string }{{"pki/ca.key", string(content)}, {"backup.json", index}} {
		header := &tar.Header{Name: entry.name, Size: int64(len(entry.content)), Mode: 0o600, ModTime: time.Unix(1700000000, 0)}
		if err := w.WriteHeader(header); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(entry.content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if info, err := backup.Check(&archive); err != nil || info.Version != "0.1.0" {
		t.Errorf("%+v, %v", info, err)
	}
}
