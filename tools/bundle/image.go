package bundle

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"path/filepath"
	"time"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	v1 "github.com/opencontainers/image-spec/specs-go/v1"
)

const (
	// imageUser is the user that the program runs as in a container. The manifests of
	// "holdfast kudo init" name the same.
	imageUser = 65532
	// imageHome is the home of that user. A server keeps its data below it.
	imageHome = "/var/lib/holdfast"
)

// writeImage writes the container image as an OCI archive: an image for each Linux platform, and
// an index of them. It needs neither a registry nor a daemon, because the image has one layer
// and no base image.
func (r Release) writeImage(binaries []Binary) error {
	layout := ociLayout{date: r.Date}
	index := v1.Index{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: v1.MediaTypeImageIndex}
	for _, b := range binaries {
		if b.OS != "linux" {
			continue
		}
		manifest, err := r.addImage(&layout, b)
		if err != nil {
			return err
		}
		index.Manifests = append(index.Manifests, manifest)
	}
	images, err := layout.addJSON(v1.MediaTypeImageIndex, index)
	if err != nil {
		return err
	}
	images.Annotations = map[string]string{v1.AnnotationRefName: r.Version, "io.containerd.image.name": r.Image + ":" + r.Version}
	index.Manifests = []v1.Descriptor{images}
	return create(filepath.Join(r.Out, r.ImageArchive()), func(file io.Writer) error {
		return layout.writeTo(file, index)
	})
}

// addImage adds the image for one platform, and returns the descriptor of its manifest.
func (r Release) addImage(layout *ociLayout, b Binary) (v1.Descriptor, error) {
	plain := digest.Canonical.Digester()
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	if err := errors.Join(writeTar(io.MultiWriter(z, plain.Hash()), r.Date, imageFiles(b)), z.Close()); err != nil {
		return v1.Descriptor{}, err
	}
	layer := layout.add(v1.MediaTypeImageLayerGzip, zipped.Bytes())
	of := v1.Platform{OS: b.OS, Architecture: b.Arch}
	labels := map[string]string{
		v1.AnnotationTitle: program, v1.AnnotationVersion: r.Version, v1.AnnotationRevision: r.Commit,
		v1.AnnotationLicenses: "Apache-2.0", v1.AnnotationCreated: r.Date.Format(time.RFC3339),
	}
	config, err := layout.addJSON(v1.MediaTypeImageConfig, v1.Image{
		Created: &r.Date, Platform: of,
		RootFS:  v1.RootFS{Type: "layers", DiffIDs: []digest.Digest{plain.Digest()}},
		History: []v1.History{{Created: &r.Date, CreatedBy: "make release"}},
		Config: v1.ImageConfig{
			User: "65532:65532", WorkingDir: imageHome, Labels: labels,
			Entrypoint: []string{"/usr/local/bin/" + program},
			Env:        []string{"PATH=/usr/local/bin", "HOME=" + imageHome},
		},
	})
	if err != nil {
		return v1.Descriptor{}, err
	}
	manifest, err := layout.addJSON(v1.MediaTypeImageManifest, v1.Manifest{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: v1.MediaTypeImageManifest,
		Config: config, Layers: []v1.Descriptor{layer}, Annotations: labels,
	})
	manifest.Platform = &of
	return manifest, err
}

// imageFiles are the files of the image: the program by its three names, its user, a folder for
// data and one for temporary files.
func imageFiles(b Binary) []entry {
	files := []entry{
		{name: "etc/", mode: 0o755},
		{name: "etc/passwd", mode: 0o644, content: []byte("holdfast:x:65532:65532::" + imageHome + ":/sbin/nologin\n")},
		{name: "etc/group", mode: 0o644, content: []byte("holdfast:x:65532:\n")},
		{name: "tmp/", mode: 0o1777},
		{name: "usr/", mode: 0o755},
		{name: "usr/local/", mode: 0o755},
		{name: "usr/local/bin/", mode: 0o755},
		{name: "usr/local/bin/" + program, mode: 0o755, file: b.Path},
	}
	for _, link := range links {
		files = append(files, entry{name: "usr/local/bin/" + link, link: program})
	}
	return append(files,
		entry{name: "var/", mode: 0o755}, entry{name: "var/lib/", mode: 0o755},
		entry{name: "var/lib/holdfast/", mode: 0o700, owner: imageUser})
}

// ociLayout is the content of an OCI archive: blobs by their digest.
type ociLayout struct {
	date  time.Time
	blobs []entry
}

// add adds a blob and returns its descriptor.
func (l *ociLayout) add(mediaType string, data []byte) v1.Descriptor {
	sum := digest.Canonical.FromBytes(data)
	l.blobs = append(l.blobs, entry{name: "blobs/sha256/" + sum.Encoded(), mode: 0o644, content: data})
	return v1.Descriptor{MediaType: mediaType, Digest: sum, Size: int64(len(data))}
}

// addJSON adds a value as a blob in JSON.
func (l *ociLayout) addJSON(mediaType string, value any) (v1.Descriptor, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return v1.Descriptor{}, err
	}
	return l.add(mediaType, data), nil
}

// writeTo writes the archive, with an index as its table of contents.
func (l *ociLayout) writeTo(to io.Writer, index v1.Index) error {
	version, err := json.Marshal(v1.ImageLayout{Version: v1.ImageLayoutVersion})
	if err != nil {
		return err
	}
	contents, err := json.Marshal(index)
	if err != nil {
		return err
	}
	files := append([]entry{
		{name: v1.ImageLayoutFile, mode: 0o644, content: version},
		{name: v1.ImageIndexFile, mode: 0o644, content: contents},
		{name: "blobs/", mode: 0o755},
		{name: "blobs/sha256/", mode: 0o755},
	}, l.blobs...)
	return writeTar(to, l.date, files)
}
