// Package bundle writes the files of a release: an archive with the program for each platform, its bill of materials, a container
// image, the chart of the guard, the files of dist/, the files for Homebrew and krew, and the checksums.
//
//	r := bundle.Release{Version: "v0.1.0", Commit: commit, Date: date, URL: url, Image: image, Source: "..", Out: "../bin/release"}
//	binaries, err := r.Build(work)
//	err = r.Write(binaries)
//
// The result depends on the source, the fields of Release and the version of Go alone: paths, times and the order of files are
// fixed. Two runs for one commit write the same bytes.
package bundle

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// PlaceholderImage is the name of an image that nobody has published. A release with it has no address of an image.
const PlaceholderImage = "holdfast"

// Release is one release, and the folders that it is made from and written to.
type Release struct {
	// Version is the version, with a v in front, such as v0.1.0.
	Version string
	// Commit is the commit that the release is built from.
	Commit string
	// Date is the time of that commit. Every file has it.
	Date time.Time
	// URL is the address that the files can be downloaded from.
	URL string
	// Image is the name of the image without its tag, which is the version.
	Image string

	// Source is the root of the checkout, and Out the folder for the files.
	Source, Out string
}

// Platform is an operating system and an architecture, by the names of Go.
type Platform struct{ OS, Arch string }

func (p Platform) String() string { return p.OS + "/" + p.Arch }

// Platforms are the platforms of a release.
var Platforms = []Platform{{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "arm64"}}

// Binary is the program for one platform.
type Binary struct {
	Platform
	// Path is the file of the program.
	Path string
}

// Number returns the version without its v.
func (r Release) Number() string { return strings.TrimPrefix(r.Version, "v") }

// taggedImage returns the name of the image with its tag, or nothing if it is the placeholder.
func (r Release) taggedImage() string {
	if r.Image == PlaceholderImage {
		return ""
	}
	return r.Image + ":" + r.Version
}

// Build compiles the program for every platform, below a folder.
func (r Release) Build(work string) ([]Binary, error) {
	var binaries []Binary
	for _, p := range Platforms {
		built := Binary{Platform: p, Path: filepath.Join(work, p.OS+"-"+p.Arch, program)}
		fmt.Fprintf(os.Stderr, "release: build %s\n", p)
		if err := r.compile(built); err != nil {
			return nil, err
		}
		binaries = append(binaries, built)
	}
	return binaries, nil
}

// Write writes the files of a release, for programs that are built. The checksums come last, because they cover all other
// files.
func (r Release) Write(binaries []Binary) error {
	if err := os.MkdirAll(r.Out, 0o755); err != nil {
		return err
	}
	var archives []archive
	for _, b := range binaries {
		made, err := r.writeArchive(b)
		if err != nil {
			return fmt.Errorf("archive for %s: %w", b, err)
		}
		archives = append(archives, made)
		if err := r.writeMaterials(b); err != nil {
			return fmt.Errorf("bill of materials for %s: %w", b, err)
		}
	}
	steps := []struct {
		what  string
		write func() error
	}{
		{"container image", func() error { return r.writeImage(binaries) }},
		{"chart", r.writeChart},
		{"files of dist", r.writeDist},
		{"manifests", func() error { return r.writeManifests(archives) }},
		{"checksums", r.writeChecksums},
	}
	for _, step := range steps {
		if err := step.write(); err != nil {
			return fmt.Errorf("%s: %w", step.what, err)
		}
	}
	return nil
}

// name returns the name of a file of the release for a platform.
func (r Release) name(p Platform, suffix string) string {
	return fmt.Sprintf("%s_%s_%s_%s%s", program, r.Version, p.OS, p.Arch, suffix)
}
