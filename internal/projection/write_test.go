package projection_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast.dev/holdfast/internal/projection"
)

func payloadOf(files map[string]string) projection.Payload {
	payload := projection.Payload{}
	for name, content := range files {
		payload[name] = projection.File{Data: []byte(content), Mode: 0o644}
	}
	return payload
}

// tree lists the entries of a directory, links with their targets.
func tree(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, entry := range entries {
		line := entry.Name()
		if entry.Type()&fs.ModeSymlink != 0 {
			target, err := os.Readlink(filepath.Join(dir, entry.Name()))
			if err != nil {
				t.Fatal(err)
			}
			line += " -> " + target
		}
		lines = append(lines, line)
	}
	return lines
}

// mustWrite writes a payload and reports whether the volume changed.
func mustWrite(t *testing.T, dir string, payload projection.Payload) bool {
	t.Helper()
	changed, err := projection.Writer{}.Write(dir, payload)
	if err != nil {
		t.Fatal(err)
	}
	return changed
}

func TestLayout(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "pods", "u", "volumes", "v")
	if !mustWrite(t, dir, payloadOf(map[string]string{"app.conf": "a", "etc/x/y": "b"})) {
		t.Error("the first write changed nothing")
	}
	set, err := os.Readlink(filepath.Join(dir, "..data"))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{set, "..data -> " + set, "app.conf -> ..data/app.conf", "etc -> ..data/etc"}
	if diff := cmp.Diff(want, tree(t, dir)); diff != "" {
		t.Errorf("layout (-want +got):\n%s", diff)
	}
	if data, err := os.ReadFile(filepath.Join(dir, "etc/x/y")); err != nil || string(data) != "b" {
		t.Errorf("etc/x/y: %q, %v", data, err)
	}

	if mustWrite(t, dir, payloadOf(map[string]string{"app.conf": "a", "etc/x/y": "b"})) {
		t.Error("the same again changed something")
	}
	if again, _ := os.Readlink(filepath.Join(dir, "..data")); again != set {
		t.Error("the same again was written anew")
	}

	if !mustWrite(t, dir, payloadOf(map[string]string{"new": "c"})) {
		t.Error("a change changed nothing")
	}
	set, _ = os.Readlink(filepath.Join(dir, "..data"))
	if diff := cmp.Diff([]string{set, "..data -> " + set, "new -> ..data/new"}, tree(t, dir)); diff != "" {
		t.Errorf("layout (-want +got):\n%s", diff)
	}

	mustWrite(t, dir, projection.Payload{})
	set, _ = os.Readlink(filepath.Join(dir, "..data"))
	if diff := cmp.Diff([]string{set, "..data -> " + set}, tree(t, dir)); diff != "" {
		t.Errorf("emptied (-want +got):\n%s", diff)
	}
	if err := (projection.Writer{}).Remove(dir); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("removed: %v", err)
	}
}

func TestModeAloneIsAChange(t *testing.T) {
	dir := t.TempDir()
	payload := payloadOf(map[string]string{"x": "a"})
	mustWrite(t, dir, payload)
	payload["x"] = projection.File{Data: []byte("a"), Mode: 0o400}
	if !mustWrite(t, dir, payload) {
		t.Error("nothing changed")
	}
	info, err := os.Stat(filepath.Join(dir, "x"))
	if err != nil || info.Mode() != 0o400 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

// TestGroup checks that Write sets the group of files, also if only the group changes, and that
// the error names the group if the process may not set it.
func TestGroup(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: only root can set the group of a file to any group")
	}
	dir := t.TempDir()
	if err := errors.Join(os.Chmod(filepath.Dir(dir), 0o755), os.Chmod(dir, 0o777)); err != nil {
		t.Fatal(err)
	}
	payload := payloadOf(map[string]string{"x": "a"})
	mustWrite(t, dir, payload)
	group := 4242
	payload["x"] = projection.File{Data: []byte("a"), Mode: 0o644, Group: &group}
	for _, want := range []bool{true, false} {
		if changed := mustWrite(t, dir, payload); changed != want {
			t.Errorf("changed %v", changed)
		}
	}
	info, err := os.Stat(filepath.Join(dir, "x"))
	if err != nil {
		t.Fatal(err)
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); !ok || stat.Gid != 4242 {
		t.Errorf("%+v", info.Sys())
	}
	failed := make(chan error)
	go func() {
		// The system call changes the user of this thread only. The thread ends with the
		// goroutine.
		runtime.LockOSThread()
		if _, _, errno := syscall.RawSyscall(syscall.SYS_SETRESUID, 65534, 65534, 65534); errno != 0 {
			failed <- errno
			return
		}
		failed <- projection.OS{}.WriteFile(filepath.Join(dir, "y"), payload["x"])
	}()
	var refused *projection.GroupError
	if err := <-failed; !errors.As(err, &refused) || !strings.Contains(err.Error(), "cannot be given to group 4242: this agent runs as user") {
		t.Errorf("%v", err)
	}
}

// TestSetAside checks that files and directories with the names of the writer's links stop no
// write, and are kept under another name.
func TestSetAside(t *testing.T) {
	for name, create := range map[string]func(path string) error{
		"file":      func(path string) error { return os.WriteFile(path, []byte("mine"), 0o600) },
		"directory": func(path string) error { return os.MkdirAll(filepath.Join(path, "mine"), 0o755) },
	} {
		t.Run(name, func(t *testing.T) {
			for _, link := range []string{"..data", "..data_tmp"} {
				dir := t.TempDir()
				if err := create(filepath.Join(dir, link)); err != nil {
					t.Fatal(err)
				}
				mustWrite(t, dir, payloadOf(map[string]string{"x": "one"}))
				if err := create(filepath.Join(dir, "..data_tmp")); err != nil {
					t.Fatal(err)
				}
				mustWrite(t, dir, payloadOf(map[string]string{"x": "two"}))
				if data, err := os.ReadFile(filepath.Join(dir, "x")); err != nil || string(data) != "two" {
					t.Errorf("%s: %q, %v", link, data, err)
				}
				aside, err := filepath.Glob(filepath.Join(dir, "data*.set-aside-*"))
				if err != nil || len(aside) != 2 {
					t.Errorf("%s: set aside %v, %v", link, aside, err)
				}
			}
		})
	}
}

// TestFailedWriteKeepsOldFiles checks that a write that fails leaves the old files.
func TestFailedWriteKeepsOldFiles(t *testing.T) {
	tests := map[string]struct {
		payload map[string]string
		prepare func(dir string) error
		want    string
	}{
		"invalid path": {payload: map[string]string{"../y": "b"}, want: `path "../y": must not start with ".."`},
		"a file in the way": {
			payload: map[string]string{"x": "b", "y": "c"},
			prepare: func(dir string) error { return os.WriteFile(filepath.Join(dir, "y"), nil, 0o600) },
			want:    "y is in the way: it is not a link of this volume",
		},
		"a link in the way": {
			payload: map[string]string{"x": "b", "y": "c"},
			prepare: func(dir string) error { return os.Symlink("/etc/passwd", filepath.Join(dir, "y")) },
			want:    "y is in the way: it is not a link of this volume",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			mustWrite(t, dir, payloadOf(map[string]string{"x": "good"}))
			if test.prepare != nil {
				if err := test.prepare(dir); err != nil {
					t.Fatal(err)
				}
			}
			before := tree(t, dir)
			changed, err := projection.Writer{}.Write(dir, payloadOf(test.payload))
			if changed || err == nil || !strings.HasSuffix(err.Error(), test.want) {
				t.Errorf("changed %v, %v", changed, err)
			}
			if data, err := os.ReadFile(filepath.Join(dir, "x")); err != nil || string(data) != "good" {
				t.Errorf("x: %q, %v", data, err)
			}
			if diff := cmp.Diff(before, tree(t, dir)); diff != "" {
				t.Errorf("left behind (-before +after):\n%s", diff)
			}
		})
	}
}

// TestRepair checks that Repair removes what a crash can leave, creates missing links
// and keeps files that the writer did not create.
func TestRepair(t *testing.T) {
	dir := t.TempDir()
	mustWrite(t, dir, payloadOf(map[string]string{"x": "a", "z": "c"}))
	set, _ := os.Readlink(filepath.Join(dir, "..data"))
	leftover := "..2020_01_01_00_00_00.000000000"
	for _, err := range []error{
		os.Symlink(leftover, filepath.Join(dir, "..data_tmp")),
		os.MkdirAll(filepath.Join(dir, leftover, "sub"), 0o755),
		os.WriteFile(filepath.Join(dir, leftover, "sub", "half"), []byte("ha"), 0o600),
		os.Symlink("..data/y", filepath.Join(dir, "y")),
		os.Remove(filepath.Join(dir, "z")),
		os.WriteFile(filepath.Join(dir, "foreign"), nil, 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := (projection.Writer{}).Repair(dir); err != nil {
		t.Fatal(err)
	}
	want := []string{set, "..data -> " + set, "foreign", "x -> ..data/x", "z -> ..data/z"}
	if diff := cmp.Diff(want, tree(t, dir)); diff != "" {
		t.Errorf("repaired (-want +got):\n%s", diff)
	}
	if err := (projection.Writer{}).Repair(filepath.Join(dir, "none")); err != nil {
		t.Errorf("nothing to repair: %v", err)
	}
}

func TestReadBack(t *testing.T) {
	dir := t.TempDir()
	if _, err := (projection.Writer{}).Read(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("nothing written: %v", err)
	}
	payload := payloadOf(map[string]string{"x": "a", "etc/y": ""})
	mustWrite(t, dir, payload)
	got, err := projection.Writer{}.Read(dir)
	if err != nil || !got.Equal(payload) {
		t.Errorf("%v, %v", got, err)
	}
}

// TestHash checks that payloads with similar content have different hashes.
func TestHash(t *testing.T) {
	sums := map[string]projection.Payload{}
	for _, payload := range []projection.Payload{
		{},
		payloadOf(map[string]string{"a": ""}),
		payloadOf(map[string]string{"": "a"}),
		payloadOf(map[string]string{"a": "b"}),
		payloadOf(map[string]string{"ab": ""}),
		payloadOf(map[string]string{"a": "", "b": ""}),
		{"a": {Data: []byte("b"), Mode: 0o600}},
	} {
		h := sha256.New()
		payload.Hash(h)
		sum := fmt.Sprintf("%x", h.Sum(nil))
		if other, taken := sums[sum]; taken {
			t.Errorf("%v and %v have one sum", payload, other)
		}
		sums[sum] = payload
	}
}
