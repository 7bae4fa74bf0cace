package owners

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdfast.dev/holdfast/internal/managers"
)

const (
	firstLine = `{"record":"holdfast transfer 1","cluster":"c1","from":[{"manager":"old"}],"to":{"manager":"new","operation":"Apply"}}` + "\n"
	moveLine  = `{"version":"v1","resource":"configmaps","namespace":"default","name":"settings","uid":"u1","namespaced":true,` +
		`"took":[{"manager":"old","operation":"Update","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:data":{"f:a":{}}}}],` +
		`"gave":{"manager":"new","operation":"Apply","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:data":{"f:a":{}}}}}` + "\n"
)

func headerOf(cluster, from string) recordHeader {
	return recordHeader{
		Format: recordFormat, Cluster: cluster, From: []managers.Writer{{Manager: from}}, To: managers.ByName("new"),
	}
}

// TestRecord opens files as the record of a run of cluster c1 from manager old.
func TestRecord(t *testing.T) {
	for name, test := range map[string]struct {
		file string
		// header is that of the run, for which the zero value is the one of firstLine.
		cluster, from string
		// after is the file after it was opened, or the error.
		after string
	}{
		"a new file":          {after: firstLine},
		"a file of a run":     {file: firstLine + moveLine, after: firstLine + moveLine},
		"a torn move":         {file: firstLine + moveLine + moveLine[:30], after: firstLine + moveLine},
		"a torn first line":   {file: firstLine[:30], after: firstLine},
		"a torn format":       {file: firstLine[:5], after: firstLine},
		"another file":        {file: "kind: ConfigMap\n", after: "not a record of holdfast transfer"},
		"another short file":  {file: "kind", after: "not a record of holdfast transfer"},
		"another JSON":        {file: `{"kind":"List"}` + "\n", after: "not a record of holdfast transfer"},
		"another cluster":     {file: firstLine, cluster: "c2", after: `it is of another cluster: the UID of its namespace kube-system is "c1", that of this cluster is "c2"`},
		"other flags":         {file: firstLine, from: "older", after: `it is of a run with other --from: [{"manager":"old"}], not [{"manager":"older"}]`},
		"a broken line":       {file: firstLine + moveLine[:30] + "\n" + moveLine, after: "line 2: unexpected EOF"},
		"a line of no object": {file: firstLine + "{}\n", after: "line 2: not a move"},
		"an unknown field":    {file: firstLine + `{"done":1}` + "\n", after: `line 2: json: unknown field "done"`},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "record")
			if test.file != "" {
				if err := os.WriteFile(path, []byte(test.file), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			header := headerOf("c1", "old")
			if test.cluster != "" {
				header.Cluster = test.cluster
			}
			if test.from != "" {
				header = headerOf("c1", test.from)
			}
			r, err := openRecord(path, header)
			if err != nil {
				if !strings.Contains(err.Error(), test.after) || !strings.Contains(err.Error(), path) {
					t.Errorf("%v, want %q", err, test.after)
				}
				return
			}
			defer func() { _ = r.file.Close() }()
			got, err := os.ReadFile(path)
			if err != nil || string(got) != test.after {
				t.Errorf("the file is %s, want %s: %v", got, test.after, err)
			}
		})
	}
}

// FuzzRecord checks that a file is refused or read, and that a run can go on with a file that was read.
func FuzzRecord(f *testing.F) {
	f.Add(firstLine + moveLine)
	f.Add(firstLine + moveLine[:40])
	f.Add(firstLine[:20])
	f.Fuzz(func(t *testing.T, file string) {
		path := filepath.Join(t.TempDir(), "record")
		if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := readRecord(path)
		if err != nil || r.header.To != managers.ByName("new") {
			return
		}
		if err := r.file.Close(); err != nil {
			t.Fatal(err)
		}
		again, err := openRecord(path, r.header)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = again.file.Close() }()
		if len(again.lines) != len(r.lines) {
			t.Errorf("%d moves, then %d", len(r.lines), len(again.lines))
		}
		for _, line := range again.lines {
			if move, err := again.move(line); err != nil || move.UID == "" {
				t.Errorf("the move at %v: %v", line, err)
			}
		}
	})
}

// TestRecordInUse opens a record that another run has open. A run has it open until it ends, or is killed.
func TestRecordInUse(t *testing.T) {
	path := filepath.Join(t.TempDir(), "record")
	first, err := openRecord(path, headerOf("c1", "old"))
	if err != nil {
		t.Fatal(err)
	}
	const want = "in use by another holdfast transfer: wait until it ends, or name another file"
	if _, err := openRecord(path, headerOf("c1", "old")); err == nil || !strings.Contains(err.Error(), path+": "+want) {
		t.Errorf("a second run: %v, want %q", err, want)
	}
	if _, err := readRecord(path); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("an undo: %v, want %q", err, want)
	}
	if err := first.file.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := readRecord(path)
	if err != nil {
		t.Fatalf("after the first run: %v", err)
	}
	_ = again.file.Close()
}

func TestSplitPaths(t *testing.T) {
	for list, want := range map[string]string{
		".spec.replicas":            ".spec.replicas",
		".spec.replicas,.data":      ".spec.replicas .data",
		`.a[k="x,y",l=1].b,.c["]"]`: `.a[k="x,y",l=1].b .c["]"]`,
	} {
		if got := strings.Join(splitPaths(list), " "); got != want {
			t.Errorf("%s: %s, want %s", list, got, want)
		}
	}
}
