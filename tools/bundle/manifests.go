package bundle

import (
	"crypto/sha256"
	"embed"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/template"
)

//go:embed templates
var templates embed.FS

// manifests are the files for package managers, with the template of each.
var manifests = []struct{ file, template, plugin string }{
	{"holdfast.rb", "holdfast.rb", ""},
	{"krew-holdfast.yaml", "krew.yaml", "holdfast"},
	{"krew-kudo.yaml", "krew.yaml", "kudo"},
}

// manifest is what a template gets.
type manifest struct {
	Release
	Archives []archive
	// Plugin is the name of a plugin of kubectl.
	Plugin string
}

// Archive returns the archive for a platform.
func (m manifest) Archive(os, arch string) (archive, error) {
	for _, a := range m.Archives {
		if a.Platform == (Platform{os, arch}) {
			return a, nil
		}
	}
	return archive{}, fmt.Errorf("no archive for %s/%s", os, arch)
}

// writeManifests writes the formula for Homebrew and the manifests for krew.
func (r Release) writeManifests(archives []archive) error {
	parsed, err := template.ParseFS(templates, "templates/*")
	if err != nil {
		return err
	}
	for _, m := range manifests {
		values := manifest{Release: r, Archives: archives, Plugin: m.plugin}
		err := create(filepath.Join(r.Out, m.file), func(file io.Writer) error {
			return parsed.ExecuteTemplate(file, m.template, values)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// checksumFile has the checksum of each other file, in the form that sha256sum -c reads.
const checksumFile = "checksums.txt"

// writeChecksums writes the checksums of all files of the release.
func (r Release) writeChecksums() error {
	files, err := os.ReadDir(r.Out)
	if err != nil {
		return err
	}
	var lines strings.Builder
	for _, file := range files {
		if file.Name() == checksumFile {
			continue
		}
		sum, err := checksum(filepath.Join(r.Out, file.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&lines, "%s  %s\n", sum, file.Name())
	}
	return os.WriteFile(filepath.Join(r.Out, checksumFile), []byte(lines.String()), 0o644)
}

// checksum returns the SHA-256 of a file in hexadecimal.
func checksum(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = file.Close() }()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return "", err
	}
	return fmt.Sprintf("%x", sum.Sum(nil)), nil
}
