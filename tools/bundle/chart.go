package bundle

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// Chart is the name of the chart of the guard.
const Chart = "holdfast-guard"

// ImageArchive returns the name of the file with the container image.
func (r Release) ImageArchive() string { return program + "_" + r.Version + "_image.oci.tar" }

// ChartArchive returns the name of the file with the chart.
func (r Release) ChartArchive() string { return Chart + "-" + r.Number() + ".tgz" }

// writeChart writes the chart of the guard, as "helm package" does. Its version is that of the release, and its default image that
// of the release. Without one, the chart asks for an image as it does in the checkout.
func (r Release) writeChart() error {
	edits := map[string]edit{
		"Chart.yaml":  {"\nversion: 0.1.0\n", "\nversion: " + r.Number() + "\nappVersion: " + r.Version + "\n"},
		"values.yaml": {"\nimage: \"\"\n", fmt.Sprintf("\nimage: %q\n", r.taggedImage())},
	}
	files, err := r.tree("dist/helm/"+Chart, func(name string, text []byte) ([]byte, error) {
		if e, ok := edits[name]; ok {
			return e.apply(text)
		}
		return text, nil
	})
	if err != nil {
		return err
	}
	for i := range files {
		files[i].name = Chart + "/" + strings.TrimPrefix(files[i].name, "dist/helm/"+Chart+"/")
	}
	return r.writeTarball(r.ChartArchive(), files)
}

// imageOfDist is what the kustomizations of dist/ say about the image.
var imageOfDist = "\nimages:\n- name: " + PlaceholderImage + "\n  newTag: latest\n"

// writeDist writes dist/ with the image of the release, and the objects that its kustomizations read.
func (r Release) writeDist() error {
	set := edit{imageOfDist, imageOfDist}
	if r.Image != PlaceholderImage {
		set.to = "\nimages:\n- name: " + PlaceholderImage + "\n  newName: " + r.Image + "\n  newTag: " + r.Version + "\n"
	}
	files, err := r.tree("dist", func(name string, text []byte) ([]byte, error) {
		if strings.HasPrefix(name, "kustomize/") && path.Base(name) == "kustomization.yaml" {
			return set.apply(text)
		}
		return text, nil
	})
	if err != nil {
		return err
	}
	objects, err := r.tree("internal/othercluster/guard/setup/objects", func(_ string, text []byte) ([]byte, error) { return text, nil })
	if err != nil {
		return err
	}
	files = append(files, objects...)
	for i := range files {
		files[i].name = program + "-" + r.Version + "/" + files[i].name
	}
	return r.writeTarball(program+"_"+r.Version+"_dist.tar.gz", files)
}

// edit replaces a text of a file, which the file has once.
type edit struct{ from, to string }

func (e edit) apply(text []byte) ([]byte, error) {
	if n := strings.Count(string(text), e.from); n != 1 {
		return nil, fmt.Errorf("want one %q, found %d", e.from, n)
	}
	return []byte(strings.Replace(string(text), e.from, e.to, 1)), nil
}

// tree returns the files below a folder of the source, after a change. The change gets the name of a file in the folder.
func (r Release) tree(folder string, change func(name string, text []byte) ([]byte, error)) ([]entry, error) {
	var files []entry
	root := filepath.Join(r.Source, filepath.FromSlash(folder))
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		if text, err = change(name, text); err != nil {
			return fmt.Errorf("%s/%s: %w", folder, name, err)
		}
		files = append(files, entry{name: folder + "/" + name, mode: 0o644, content: text})
		return nil
	})
	return files, err
}

// writeTarball writes files as a tar archive, compressed with gzip.
func (r Release) writeTarball(name string, files []entry) error {
	return create(filepath.Join(r.Out, name), func(file io.Writer) error {
		zipped := gzip.NewWriter(file)
		return errors.Join(writeTar(zipped, r.Date, files), zipped.Close())
	})
}

// ChartMetadata returns the file Chart.yaml of the archive of a chart.
func ChartMetadata(archive []byte) ([]byte, error) {
	unzipped, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		return nil, err
	}
	for r := tar.NewReader(unzipped); ; {
		header, err := r.Next()
		if err != nil {
			return nil, fmt.Errorf("look for Chart.yaml: %w", err)
		}
		if header.Name == Chart+"/Chart.yaml" {
			return io.ReadAll(r)
		}
	}
}
