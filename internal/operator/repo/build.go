package repo

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Build returns the index of all .tgz files in a folder. Each must be a package that can
// be installed; the error names all that are not. The URLs of the packages are the file
// names, below base if it is not empty, else relative to the index.
func Build(folder, base string, now metav1.Time) (*Index, error) {
	index := &Index{APIVersion: "v1", Entries: map[string][]Entry{}, Generated: &now}
	files, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	var wrong []error
	for _, file := range files {
		if !strings.HasSuffix(file.Name(), ".tgz") {
			continue
		}
		entry, err := entryOf(filepath.Join(folder, file.Name()))
		if err != nil {
			wrong = append(wrong, err)
			continue
		}
		entry.URLs = []string{file.Name()}
		if base != "" {
			entry.URLs = []string{join(base, file.Name())}
		}
		for _, other := range index.Entries[entry.Name] {
			if other.VersionName() == entry.VersionName() {
				wrong = append(wrong, fmt.Errorf("%s: %s is also %s", file.Name(), entry.VersionName(), other.URLs[0]))
			}
		}
		index.Entries[entry.Name] = append(index.Entries[entry.Name], *entry)
	}
	if len(wrong) > 0 {
		return nil, errors.Join(wrong...)
	}
	return index, index.check()
}

// entryOf returns the index entry of a package file, without its URLs.
func entryOf(location string) (*Entry, error) {
	file, err := os.Open(location)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := bounded(location, file, maxPackage)
	if err != nil {
		return nil, err
	}
	p, err := read(location, text)
	if err != nil {
		return nil, err
	}
	if err := p.Verify().Err(); err != nil {
		return nil, fmt.Errorf("package %s: %w", location, err)
	}
	return &Entry{
		APIVersion: "v1beta1", Name: p.Operator.Name, OperatorVersion: p.Operator.OperatorVersion, AppVersion: p.Operator.AppVersion,
		Description: p.Operator.Description, Maintainers: p.Operator.Maintainers, Digest: Digest(text),
	}, nil
}
