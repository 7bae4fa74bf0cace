package pack_test

import (
	"bytes"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast.dev/holdfast/operator/pack"
)

// TestBeside checks that packages beside a package are read from folders, and that an archive
// contains them.
func TestBeside(t *testing.T) {
	root := folder(t, map[string]string{
		"team/app/operator.yaml":            needs("app", "../store", "./inner"),
		"team/app/inner/operator.yaml":      needs("inner", "../../store"),
		"team/store/operator.yaml":          needs("store", "../../shared/disk"),
		"team/store/params.yaml":            "parameters: [{name: A, default: b}]",
		"team/store/templates/deep/a.yaml":  "{{ .Params.A }}",
		"shared/disk/operator.yaml":         needs("disk"),
		"team/unrelated/operator.yaml":      needs("unrelated"),
		"shared/disk/templates/README.yaml": "a: b",
	})
	files, err := pack.LoadFiles(filepath.Join(root, "team", "app"))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"inner/operator.yaml", "operator.yaml", "shared/disk/operator.yaml", "shared/disk/templates/README.yaml",
		"store/operator.yaml", "store/params.yaml", "store/templates/deep/a.yaml",
	}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(files))); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	checkPackages(t, files)
	archived := &bytes.Buffer{}
	if err := files.Archive(archived); err != nil {
		t.Fatal(err)
	}
	again, err := pack.ReadArchive(archived)
	if err != nil {
		t.Fatal(err)
	}
	checkPackages(t, again)

	// An archive that was unpacked is a package too.
	unpacked := map[string]string{}
	for name, text := range files {
		unpacked[name] = string(text)
	}
	if again, err = pack.LoadFiles(folder(t, unpacked)); err != nil {
		t.Fatal(err)
	}
	checkPackages(t, again)
}

// checkPackages checks which packages TestBeside finds among the files.
func checkPackages(t *testing.T, files pack.Files) {
	t.Helper()
	p, err := files.Parse()
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for folder, each := range p.All() {
		found = append(found, folder+" "+each.VersionName())
	}
	if diff := cmp.Diff([]string{". app-0.1.0", "store store-0.1.0", "shared/disk disk-0.1.0", "inner inner-0.1.0"}, found); diff != "" {
		t.Errorf("packages (-want +got):\n%s", diff)
	}
	if err := p.Verify().Err(); err != nil {
		t.Error(err)
	}
}

// TestHostileBeside checks that the reading of a package ends, whatever the packages beside it
// refer to.
func TestHostileBeside(t *testing.T) {
	root := folder(t, map[string]string{"a/operator.yaml": needs("a", "../b"), "b/operator.yaml": needs("b", "../a")})
	circle, err := pack.Load(filepath.Join(root, "a"))
	if err != nil {
		t.Fatal(err)
	}
	if err := circle.Verify().Err(); err != nil {
		t.Error(err)
	}
	root = folder(t, map[string]string{
		"a/operator.yaml": needs("a", "../b", "./b"), "b/operator.yaml": needs("b"), "a/b/operator.yaml": needs("other"),
	})
	if _, err := pack.Load(filepath.Join(root, "a")); err == nil ||
		!strings.HasSuffix(err.Error(), ": the packages in folders ../b and b would both be in folder b of an archive") {
		t.Errorf("two packages in one folder: %v", err)
	}
	// A link beside the package does not lead out of the folder that both are in.
	outside := folder(t, map[string]string{"operator.yaml": needs("outside")})
	root = folder(t, map[string]string{"a/operator.yaml": needs("a", "../b")})
	link(t, outside, root, "b")
	if p, err := pack.Load(filepath.Join(root, "a")); err == nil && p.Bundled != nil {
		t.Error("a package was read through a link")
	}
	// Nothing outside of an archive is read.
	files, err := pack.ReadArchive(bytes.NewReader(archive(t, entry("operator.yaml", needs("a", "../../../../../b")))))
	if err != nil {
		t.Fatal(err)
	}
	p, err := files.Parse()
	if err != nil {
		t.Fatal(err)
	}
	if got := p.Verify().Err(); got == nil || !strings.Contains(got.Error(), "there is no file ../../../../../b/operator.yaml") {
		t.Errorf("got %v", got)
	}
}
