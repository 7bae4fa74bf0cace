package pack_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast.dev/holdfast/internal/operator/pack"
)

const small = `
name: tok
operatorVersion: 0.1.0
appVersion: "1.0"
tasks: [{name: app, kind: Apply, spec: {resources: [app.yaml]}}]
plans: {deploy: {strategy: serial, phases: [{name: main, strategy: serial, steps: [{name: app, tasks: [app]}]}]}}
`

// folder writes files into a new folder and returns its path.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// archive returns a .tgz with entries made by entry.
func archive(t testing.TB, entries ...tar.Header) []byte {
	t.Helper()
	out := &bytes.Buffer{}
	zipped := gzip.NewWriter(out)
	writer := tar.NewWriter(zipped)
	for _, entry := range entries {
		// The field Uname holds the content of the file.
		content := entry.Uname
		entry.Uname, entry.Size = "", int64(len(content))
		if err := writer.WriteHeader(&entry); err != nil {
			t.Fatal(err)
		}
		if _, err := writer.Write([]byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zipped.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// entry returns the header of a regular file, with its content in Uname.
func entry(name, content string) tar.Header {
	return tar.Header{Typeflag: tar.TypeReg, Name: name, Uname: content, Mode: 0o644}
}

// TestFolderAndArchive checks that a package has the same files when read from a folder
// and from an archive, and that archives are reproducible.
func TestFolderAndArchive(t *testing.T) {
	root := folder(t, map[string]string{
		"operator.yaml": small, "params.yaml": "parameters: []", "templates/app.yaml": "a: b", "templates/deep/more.yaml": "c: d",
		"templates/notes.txt": "no template", "README.md": "words", "tests/operator.yaml": "another: package",
	})
	want, err := pack.LoadFiles(root)
	if err != nil {
		t.Fatal(err)
	}
	names := []string{}
	for name := range want {
		names = append(names, name)
	}
	if len(names) != 4 {
		t.Errorf("read %v", names)
	}
	first, second := &bytes.Buffer{}, &bytes.Buffer{}
	for _, out := range []*bytes.Buffer{first, second} {
		if err := want.Archive(out); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Error("two archives of one package differ")
	}
	path := filepath.Join(t.TempDir(), "tok.tgz")
	if err := os.WriteFile(path, first.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := pack.LoadFiles(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files (-folder +archive):\n%s", diff)
	}
	p, err := pack.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"app.yaml": "a: b", "deep/more.yaml": "c: d"}, p.Templates); diff != "" {
		t.Errorf("templates (-want +got):\n%s", diff)
	}
}

func TestHostileArchives(t *testing.T) {
	big := strings.Repeat("a: b\n", 2<<20)
	tests := map[string]struct {
		archive []byte
		want    string
	}{
		"path out of the package": {archive(t, entry("../operator.yaml", small)), `"../operator.yaml": leads out of the package`},
		"path out of the package, in the middle": {
			archive(t, entry("templates/../../../etc/passwd.yaml", small)),
			`"templates/../../../etc/passwd.yaml": leads out of the package`,
		},
		"absolute path": {archive(t, entry("/etc/operator.yaml", small)), `"/etc/operator.yaml": not a path in the package`},
		"backslashes":   {archive(t, entry(`templates\..\..\a.yaml`, small)), `"templates\\..\\..\\a.yaml": not a path in the package`},
		"link": {
			archive(t, tar.Header{Typeflag: tar.TypeSymlink, Name: "operator.yaml", Linkname: "/etc/passwd"}),
			`"operator.yaml": neither a file nor a folder`,
		},
		"hard link": {
			archive(t, tar.Header{Typeflag: tar.TypeLink, Name: "templates/a.yaml", Linkname: "/etc/passwd"}),
			`"templates/a.yaml": neither a file nor a folder`,
		},
		"device": {
			archive(t, tar.Header{Typeflag: tar.TypeChar, Name: "templates/a.yaml"}),
			`"templates/a.yaml": neither a file nor a folder`,
		},
		"10 MB of parameters": {archive(t, entry("operator.yaml", small), entry("params.yaml", big)), `params.yaml: larger than 1 MiB`},
		"twice": {
			archive(t, entry("operator.yaml", small), entry("./operator.yaml", small)),
			`operator.yaml: more than once in the package`,
		},
		"large file of no package": {archive(t, entry("big", strings.Repeat("\x00", 33<<20))), `unpacks to more than 32 MiB`},
		"many templates": {
			archive(t, entry("templates/1.yaml", big[:1<<20]), entry("templates/2.yaml", big[:1<<20]),
				entry("templates/3.yaml", big[:1<<20]), entry("templates/4.yaml", "a")),
			`more than 3 MiB in all`,
		},
		"not text":       {archive(t, entry("params.yaml", "\xff\xfe")), `params.yaml: not UTF-8 text`},
		"not an archive": {[]byte("hello"), `not a .tgz: unexpected EOF`},
		"cut":            {archive(t, entry("operator.yaml", small))[:40], `not a .tgz: unexpected EOF`},
		"no operator":    {archive(t, entry("params.yaml", "")), `operator.yaml: not in the package`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "x.tgz")
			if err := os.WriteFile(path, test.archive, 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := pack.Load(path)
			if want := "read package " + path + ": " + test.want; err == nil || err.Error() != want {
				t.Errorf("got  %v\nwant %s", err, want)
			}
		})
	}
}

func TestHostileFolders(t *testing.T) {
	tests := map[string]struct {
		change func(t *testing.T, root string)
		want   string
	}{
		"linked template": {
			func(t *testing.T, root string) { link(t, "/etc/passwd", root, "templates/b.yaml") },
			"templates/b.yaml: not a regular file",
		},
		"linked operator": {func(t *testing.T, root string) {
			if err := os.Remove(filepath.Join(root, "operator.yaml")); err != nil {
				t.Fatal(err)
			}
			link(t, "/etc/passwd", root, "operator.yaml")
		}, "operator.yaml: not a regular file"},
		"large params": {func(t *testing.T, root string) {
			if err := os.WriteFile(filepath.Join(root, "params.yaml"), make([]byte, 10<<20), 0o600); err != nil {
				t.Fatal(err)
			}
		}, "params.yaml: larger than 1 MiB"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			root := folder(t, map[string]string{"operator.yaml": small, "templates/app.yaml": "a: b"})
			test.change(t, root)
			_, err := pack.Load(root)
			if want := "read package " + root + ": " + test.want; err == nil || err.Error() != want {
				t.Errorf("got  %v\nwant %s", err, want)
			}
		})
	}
	if _, err := pack.Load("/no/such/package"); err == nil || err.Error() != "read package /no/such/package: no such file or directory" {
		t.Errorf("got %v", err)
	}
}

func link(t *testing.T, target, root, name string) {
	t.Helper()
	if err := os.Symlink(target, filepath.Join(root, name)); err != nil {
		t.Fatal(err)
	}
}

func FuzzArchive(f *testing.F) {
	f.Add(archive(f, entry("operator.yaml", small), entry("params.yaml", "parameters: []"), entry("templates/a.yaml", "a: b")))
	f.Add(archive(f, entry("../operator.yaml", small)))
	f.Add(archive(f, entry("operator.yaml", needs("a", "./b", "b")),
		entry("b/operator.yaml", needs("b", "./c", "././c")), entry("b/c/operator.yaml", small)))
	f.Add([]byte("\x1f\x8b\x08"))
	f.Fuzz(func(t *testing.T, text []byte) {
		files, err := pack.ReadArchive(bytes.NewReader(text))
		if err != nil {
			return
		}
		out := &bytes.Buffer{}
		if err := files.Archive(out); err != nil {
			t.Fatal(err)
		}
		again, err := pack.ReadArchive(out)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(files, again); diff != "" {
			t.Errorf("read, written and read again (-want +got):\n%s", diff)
		}
		p, err := files.Parse()
		if err != nil {
			return
		}
		p.Verify()
		for _, each := range p.All() {
			each.Resources("default")
		}
	})
}

// fuzzFile parses and verifies a package in which one file has the fuzzed content.
func fuzzFile(f *testing.F, name string, seeds ...string) {
	for _, seed := range seeds {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		files := pack.Files{"operator.yaml": []byte(small), name: text}
		p, err := files.Parse()
		if err != nil {
			return
		}
		p.Verify()
		_, version := p.Resources("default")
		if got, want := len(version.Spec.Parameters), len(p.Params.Parameters); got != want {
			t.Errorf("%d of %d parameters", got, want)
		}
	})
}

func FuzzOperatorFile(f *testing.F) {
	fuzzFile(f, "operator.yaml", small, "plans: {deploy: null}", needs("a", "./b", "../c", "http://d"),
		"name: a\nversion: 1\ntasks: {a: {resources: [b]}}\nmaintainers: [a <b@c.d>, {name: x}]")
}

func FuzzParamsFile(f *testing.F) {
	fuzzFile(f, "params.yaml", "A: {default: 3}\nB:\n", "groups: [{prio: 1}]",
		"parameters: [{name: A, default: [1, {a: b}], type: array, enum: [[1], 2], immutable: true}]")
}
