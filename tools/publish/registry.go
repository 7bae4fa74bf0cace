package main

import (
	"archive/tar"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/tools/bundle"
)

// imageTag returns the tag of an image in a registry. Docker Hub, which is the default of short names, has to be written out.
func imageTag(repository, version string) (name.Tag, error) {
	if registry, _, found := strings.Cut(repository, "/"); !found || !strings.ContainsAny(registry, ".:") && registry != "localhost" {
		return name.Tag{}, fmt.Errorf("%q does not begin with a registry, such as ghcr.io", repository)
	}
	return name.NewTag(repository+":"+version, name.StrictValidation)
}

// reachRegistry checks that a repository of a registry can be written.
func reachRegistry(tag name.Tag) error {
	if err := remote.CheckPushPermission(tag, authn.DefaultKeychain, http.DefaultTransport); err != nil {
		return fmt.Errorf("no right to push, or no registry: %w (docker login makes credentials)", err)
	}
	return nil
}

// isAt reports whether a registry has a digest under a tag. It is an error if it has another one.
func isAt(ctx context.Context, tag name.Tag, want v1.Hash) (bool, error) {
	found, err := remote.Head(tag, remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain))
	var answer *transport.Error
	switch {
	case errors.As(err, &answer) && answer.StatusCode == http.StatusNotFound:
		return false, nil
	case err != nil:
		return false, err
	case found.Digest != want:
		return false, fmt.Errorf("the registry has %s under this tag, and not %s: a published version is never replaced", found.Digest, want)
	}
	return true, nil
}

// image is the container image in a registry.
type image struct{ *publication }

func (i *image) String() string { return "image " + i.Image + ":" + i.version }

func (i *image) reach(context.Context) error {
	at, err := imageTag(i.Image, i.version)
	if err != nil {
		return err
	}
	return reachRegistry(at)
}

func (i *image) published(ctx context.Context) (bool, error) {
	at, err := imageTag(i.Image, i.version)
	if err != nil {
		return false, err
	}
	index, err := i.index()
	if err != nil {
		return false, err
	}
	digest, err := index.Digest()
	if err != nil {
		return false, err
	}
	return isAt(ctx, at, digest)
}

func (i *image) publish(ctx context.Context) error {
	at, err := imageTag(i.Image, i.version)
	if err != nil {
		return err
	}
	index, err := i.index()
	if err != nil {
		return err
	}
	return remote.WriteIndex(at, index, remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain))
}

// index returns the images of all platforms, from the OCI archive of the release.
func (i *image) index() (v1.ImageIndex, error) {
	release := bundle.Release{Version: i.version}
	dir := filepath.Join(i.work, "image")
	if _, err := os.Stat(dir); err != nil {
		if err := unpack(filepath.Join(i.files, release.ImageArchive()), dir); err != nil {
			return nil, err
		}
	}
	contents, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		return nil, err
	}
	manifest, err := contents.IndexManifest()
	if err != nil {
		return nil, err
	}
	if len(manifest.Manifests) != 1 {
		return nil, fmt.Errorf("%s has %d images, want one index", release.ImageArchive(), len(manifest.Manifests))
	}
	return contents.ImageIndex(manifest.Manifests[0].Digest)
}

// unpack writes the files of a tar archive to a folder.
func unpack(archive, dir string) error {
	file, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	for r := tar.NewReader(file); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", archive, err)
		}
		if !filepath.IsLocal(header.Name) {
			return fmt.Errorf("%s: %s leads out of the archive", archive, header.Name)
		}
		path := filepath.Join(dir, header.Name)
		if header.Typeflag == tar.TypeDir {
			err = os.MkdirAll(path, 0o755)
		} else {
			err = errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), writeFile(path, r))
		}
		if err != nil {
			return err
		}
	}
}

func writeFile(path string, from io.Reader) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, from)
	return errors.Join(err, file.Close())
}

// chart is the chart of the guard in a registry, in the form of "helm push".
type chart struct{ *publication }

const (
	chartConfig  types.MediaType = "application/vnd.cncf.helm.config.v1+json"
	chartContent types.MediaType = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
)

func (c *chart) String() string {
	return "chart oci://" + c.Charts + "/" + bundle.Chart + ":" + bundle.Release{Version: c.version}.Number()
}

func (c *chart) tag() (name.Tag, error) {
	return imageTag(c.Charts+"/"+bundle.Chart, bundle.Release{Version: c.version}.Number())
}

func (c *chart) reach(context.Context) error {
	at, err := c.tag()
	if err != nil {
		return err
	}
	return reachRegistry(at)
}

func (c *chart) published(ctx context.Context) (bool, error) {
	at, err := c.tag()
	if err != nil {
		return false, err
	}
	manifest, _, err := c.manifest()
	if err != nil {
		return false, err
	}
	digest, _, err := v1.SHA256(strings.NewReader(string(manifest)))
	if err != nil {
		return false, err
	}
	return isAt(ctx, at, digest)
}

func (c *chart) publish(ctx context.Context) error {
	at, err := c.tag()
	if err != nil {
		return err
	}
	manifest, layers, err := c.manifest()
	if err != nil {
		return err
	}
	options := []remote.Option{remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)}
	for _, layer := range layers {
		if err := remote.WriteLayer(at.Repository, layer, options...); err != nil {
			return err
		}
	}
	return remote.Put(at, manifest, options...)
}

// chartManifest is the manifest of a chart, as JSON.
type chartManifest []byte

func (m chartManifest) RawManifest() ([]byte, error)        { return m, nil }
func (m chartManifest) MediaType() (types.MediaType, error) { return types.OCIManifestSchema1, nil }

// manifest returns the manifest of the chart with its blobs: the metadata of the chart as JSON, and the archive.
func (c *chart) manifest() (chartManifest, []v1.Layer, error) {
	release := bundle.Release{Version: c.version}
	archive, err := os.ReadFile(filepath.Join(c.files, release.ChartArchive()))
	if err != nil {
		return nil, nil, err
	}
	text, err := bundle.ChartMetadata(archive)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", release.ChartArchive(), err)
	}
	metadata, err := yaml.YAMLToJSON(text)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", release.ChartArchive(), err)
	}
	made := v1.Manifest{SchemaVersion: 2, MediaType: types.OCIManifestSchema1}
	layers := []v1.Layer{static.NewLayer(metadata, chartConfig), static.NewLayer(archive, chartContent)}
	for i, layer := range layers {
		digest, err := layer.Digest()
		if err != nil {
			return nil, nil, err
		}
		size, err := layer.Size()
		if err != nil {
			return nil, nil, err
		}
		media, err := layer.MediaType()
		if err != nil {
			return nil, nil, err
		}
		of := v1.Descriptor{MediaType: media, Digest: digest, Size: size}
		if i == 0 {
			made.Config = of
		} else {
			made.Layers = append(made.Layers, of)
		}
	}
	data, err := json.Marshal(made)
	return data, layers, err
}
