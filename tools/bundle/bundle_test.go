package bundle

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"
	v1 "github.com/opencontainers/image-spec/specs-go/v1"
)

// writeRelease writes a release in which the test itself stands for the program of every
// platform, and returns its files.
func writeRelease(t *testing.T) map[string][]byte {
	return writeReleaseOf(t, "registry.example.com/holdfast")
}

// writeReleaseOf writes a release with an image.
func writeReleaseOf(t *testing.T, image string) map[string][]byte {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r := Release{
		Version: "v1.2.3", Commit: "0123abc", Date: time.Unix(1790000000, 0).UTC(), URL: "https://example.com/releases", Image: image,
		Source: filepath.Join("..", ".."), Out: t.TempDir(),
	}
	var binaries []Binary
	for _, p := range Platforms {
		binaries = append(binaries, Binary{Platform: p, Path: self})
	}
	if err := r.Write(binaries); err != nil {
		t.Fatal(err)
	}
	found, err := os.ReadDir(r.Out)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for _, file := range found {
		if files[file.Name()], err = os.ReadFile(filepath.Join(r.Out, file.Name())); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// TestRelease checks the files of a release against each other, and that a second run writes
// the same bytes.
func TestRelease(t *testing.T) {
	files, again := writeRelease(t), writeRelease(t)
	for name, data := range files {
		if !bytes.Equal(data, again[name]) {
			t.Errorf("%s differs between two runs", name)
		}
	}
	checkChecksums(t, files)
	checkArchive(t, files["holdfast_v1.2.3_linux_arm64.tar.gz"])
	checkMaterials(t, files["holdfast_v1.2.3_darwin_arm64.cdx.json"])
	checkImage(t, files["holdfast_v1.2.3_image.oci.tar"])
	checkImageOfObjects(t, files, `image: "registry.example.com/holdfast:v1.2.3"`,
		"- name: holdfast\n  newName: registry.example.com/holdfast\n  newTag: v1.2.3\n")
	for _, name := range []string{"holdfast.rb", "krew-holdfast.yaml", "krew-kudo.yaml"} {
		for _, p := range Platforms {
			archive := "holdfast_v1.2.3_" + p.OS + "_" + p.Arch + ".tar.gz"
			sum := digest.Canonical.FromBytes(files[archive]).Encoded()
			text := string(files[name])
			if !strings.Contains(text, "https://example.com/releases/v1.2.3/"+archive) || !strings.Contains(text, sum) {
				t.Errorf("%s does not have %s with its checksum:\n%s", name, archive, text)
			}
		}
	}
}

// TestPlaceholder checks that a release without a registry names no image.
func TestPlaceholder(t *testing.T) {
	checkImageOfObjects(t, writeReleaseOf(t, PlaceholderImage), `image: ""`, "- name: holdfast\n  newTag: latest\n")
}

// checkImageOfObjects checks the image in the chart and in the kustomizations, and the version of the chart.
func checkImageOfObjects(t *testing.T, files map[string][]byte, inChart, inKustomization string) {
	t.Helper()
	chart := unpack(t, files["holdfast-guard-1.2.3.tgz"])
	if !strings.Contains(chart["holdfast-guard/values.yaml"], "\n"+inChart+"\n") {
		t.Errorf("the chart does not have %s:\n%.300s", inChart, chart["holdfast-guard/values.yaml"])
	}
	if text := chart["holdfast-guard/Chart.yaml"]; !strings.Contains(text, "\nversion: 1.2.3\nappVersion: v1.2.3\n") {
		t.Errorf("the chart has another version:\n%s", text)
	}
	if chart["holdfast-guard/templates/workload.yaml"] == "" || chart["holdfast-guard/crds/kind.yaml"] == "" {
		t.Error("the chart lacks templates or kinds")
	}
	dist := unpack(t, files["holdfast_v1.2.3_dist.tar.gz"])
	kustomizations := 0
	for name, text := range dist {
		if !strings.HasPrefix(name, "holdfast-v1.2.3/dist/kustomize/") || !strings.HasSuffix(name, "/kustomization.yaml") {
			continue
		}
		kustomizations++
		if !strings.Contains(text, inKustomization) {
			t.Errorf("%s does not have %q:\n%s", name, inKustomization, text)
		}
	}
	if kustomizations != 3 || dist["holdfast-v1.2.3/internal/othercluster/guard/setup/objects/kustomization.yaml"] == "" {
		t.Errorf("%d kustomizations in %d files, or not the objects of the guard", kustomizations, len(dist))
	}
}

// unpack returns the files of a tar archive that is compressed with gzip.
func unpack(t *testing.T, data []byte) map[string]string {
	t.Helper()
	unzipped, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for header, content := range readTar(t, unzipped) {
		files[header.Name] = string(content)
	}
	return files
}

func TestEdit(t *testing.T) {
	for text, want := range map[string]string{"a b": "a c", "a": "want one", "b b": "want one"} {
		got, err := edit{"b", "c"}.apply([]byte(text))
		if err != nil && !strings.HasPrefix(err.Error(), want) || err == nil && string(got) != want {
			t.Errorf("%q: got %q, %v", text, got, err)
		}
	}
}

// checkChecksums checks that the checksums cover every other file.
func checkChecksums(t *testing.T, files map[string][]byte) {
	t.Helper()
	var want []string
	for name, data := range files {
		if name != checksumFile {
			want = append(want, digest.Canonical.FromBytes(data).Encoded()+"  "+name)
		}
	}
	got := strings.Split(strings.TrimSpace(string(files[checksumFile])), "\n")
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("checksums %q, want %q", got, want)
	}
}

// checkArchive checks the names in an archive: the program, and the links of the plugins.
func checkArchive(t *testing.T, data []byte) {
	t.Helper()
	unzipped, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for header := range readTar(t, unzipped) {
		got = append(got, strings.TrimSpace(header.FileInfo().Mode().String()+" "+header.Name+" "+header.Linkname))
	}
	slices.Sort(got)
	want := []string{
		"-rw-r--r-- LICENSE", "-rwxr-xr-x holdfast",
		"Lrwxrwxrwx kubectl-holdfast holdfast", "Lrwxrwxrwx kubectl-kudo holdfast",
		"Lrwxrwxrwx kubectl_complete-holdfast holdfast", "Lrwxrwxrwx kubectl_complete-kudo holdfast",
	}
	if !slices.Equal(got, want) {
		t.Errorf("the archive has %q, want %q", got, want)
	}
}

// checkMaterials checks that a bill of materials has the modules of the program.
func checkMaterials(t *testing.T, data []byte) {
	t.Helper()
	var got bill
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range got.Components {
		names = append(names, c.Name)
	}
	if got.Format != "CycloneDX" || got.Metadata.Component.Version != "v1.2.3" || !slices.Contains(names, "stdlib") ||
		len(got.Dependencies) != 1 || len(got.Dependencies[0].DependsOn) != len(names) {
		t.Errorf("bill of materials:\n%s", data)
	}
}

// checkImage follows the OCI archive from its index to the files of the layers. Each blob must
// have the digest that it is named by.
func checkImage(t *testing.T, data []byte) {
	t.Helper()
	files := map[string][]byte{}
	for header, content := range readTar(t, bytes.NewReader(data)) {
		files[header.Name] = content
	}
	blob := func(d v1.Descriptor, into any) []byte {
		t.Helper()
		found := files["blobs/sha256/"+d.Digest.Encoded()]
		if digest.Canonical.FromBytes(found) != d.Digest || int64(len(found)) != d.Size {
			t.Fatalf("the blob %s does not have its digest", d.Digest)
		}
		if into != nil {
			if err := json.Unmarshal(found, into); err != nil {
				t.Fatal(err)
			}
		}
		return found
	}
	var contents, index v1.Index
	if err := json.Unmarshal(files[v1.ImageIndexFile], &contents); err != nil {
		t.Fatal(err)
	}
	blob(contents.Manifests[0], &index)
	if len(index.Manifests) != 2 {
		t.Fatalf("%d images, want 2", len(index.Manifests))
	}
	for _, each := range index.Manifests {
		var manifest v1.Manifest
		var image v1.Image
		blob(each, &manifest)
		blob(manifest.Config, &image)
		if image.Platform.Architecture != each.Platform.Architecture || image.Config.Entrypoint[0] != "/usr/local/bin/holdfast" {
			t.Errorf("image of %v: %+v", each.Platform, image)
		}
		layer, err := gzip.NewReader(bytes.NewReader(blob(manifest.Layers[0], nil)))
		if err != nil {
			t.Fatal(err)
		}
		plain, err := io.ReadAll(layer)
		if err != nil {
			t.Fatal(err)
		}
		if digest.Canonical.FromBytes(plain) != image.RootFS.DiffIDs[0] {
			t.Error("the layer does not have the digest of the image")
		}
		for header := range readTar(t, bytes.NewReader(plain)) {
			if header.Name == "var/lib/holdfast/" && (header.Uid != imageUser || header.Typeflag != tar.TypeDir) {
				t.Errorf("the folder for data belongs to %d", header.Uid)
			}
		}
	}
}

// readTar yields the entries of a tar archive with their content.
func readTar(t *testing.T, from io.Reader) func(func(*tar.Header, []byte) bool) {
	return func(yield func(*tar.Header, []byte) bool) {
		r := tar.NewReader(from)
		for {
			header, err := r.Next()
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			content, err := io.ReadAll(r)
			if err != nil {
				t.Fatal(err)
			}
			if !yield(header, content) {
				return
			}
		}
	}
}
