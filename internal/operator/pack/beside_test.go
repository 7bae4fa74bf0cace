package pack_test

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"holdfast.dev/holdfast/internal/operator/pack"
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
	wantFiles(t, files, "inner/operator.yaml", "operator.yaml", "shared/disk/operator.yaml", "shared/disk/templates/README.yaml",
		"store/operator.yaml", "store/params.yaml", "store/templates/deep/a.yaml")
	unpacked := map[string]string{}
	for name, text := range files {
		unpacked[name] = string(text)
	}
	again, err := pack.LoadFiles(folder(t, unpacked))
	if err != nil {
		t.Fatal(err)
	}
	for from, files := range map[string]pack.Files{"folders": files, "an archive": archived(t, files), "an unpacked archive": again} {
		p := wantPackages(t, files, ". app-0.1.0", "store store-0.1.0", "shared/disk disk-0.1.0", "inner inner-0.1.0")
		if err := p.Verify().Err(); err != nil {
			t.Errorf("from %s: %v", from, err)
		}
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
