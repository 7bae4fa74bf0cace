package main

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
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r := release{
		Version: "v1.2.3", Commit: "0123abc", Date: time.Unix(1790000000, 0).UTC(), URL: "https://example.com/releases",
		source: filepath.Join("..", ".."), out: t.TempDir(),
	}
	var binaries []binary
	for _, p := range platforms {
		binaries = append(binaries, binary{platform: p, path: self})
	}
	if err := r.write(binaries); err != nil {
		t.Fatal(err)
	}
	found, err := os.ReadDir(r.out)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for _, file := range found {
		if files[file.Name()], err = os.ReadFile(filepath.Join(r.out, file.Name())); err != nil {
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
	for _, name := range []string{"holdfast.rb", "krew-holdfast.yaml", "krew-kudo.yaml"} {
		for _, p := range platforms {
			archive := "holdfast_v1.2.3_" + p.OS + "_" + p.Arch + ".tar.gz"
			sum := digest.Canonical.FromBytes(files[archive]).Encoded()
			text := string(files[name])
			if !strings.Contains(text, "https://example.com/releases/v1.2.3/"+archive) || !strings.Contains(text, sum) {
				t.Errorf("%s does not have %s with its checksum:\n%s", name, archive, text)
			}
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
