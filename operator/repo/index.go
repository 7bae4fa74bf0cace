package repo

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/operator/api"
	"holdfast.dev/holdfast/parameters"
)

// IndexFileName is the name of the index in a repository.
const IndexFileName = "index.yaml"

// Index says which packages there are.
type Index struct {
	APIVersion string             `json:"apiVersion,omitempty"`
	Entries    map[string][]Entry `json:"entries"`
	Generated  *metav1.Time       `json:"generated,omitempty"`

	// location is the repository it was loaded from.
	location string
}

// Entry is one version of a package.
type Entry struct {
	APIVersion      string           `json:"apiVersion,omitempty"`
	Name            string           `json:"name"`
	OperatorVersion string           `json:"operatorVersion"`
	AppVersion      string           `json:"appVersion,omitempty"`
	Description     string           `json:"description,omitempty"`
	Maintainers     []api.Maintainer `json:"maintainers,omitempty"`
	// URLs of the package, each whole or relative to the repository.
	URLs []string `json:"urls"`
	// Digest is the SHA-256 of the package, in hexadecimal.
	Digest string `json:"digest,omitempty"`

	location string
}

// VersionName is the name of the entry's OperatorVersion.
func (e *Entry) VersionName() string {
	return api.OperatorVersionName(e.Name, e.AppVersion, e.OperatorVersion)
}

// Parse reads an index. Within a name, the newest version comes first.
func Parse(text []byte) (*Index, error) {
	index := &Index{}
	if err := yaml.Unmarshal(text, index); err != nil {
		return nil, fmt.Errorf("%s: %w", IndexFileName, err)
	}
	if index.Entries == nil {
		return nil, fmt.Errorf("%s: entries: required", IndexFileName)
	}
	return index, index.check()
}

func (x *Index) check() error {
	var wrong []error
	for _, name := range slices.Sorted(maps.Keys(x.Entries)) {
		for i, entry := range x.Entries[name] {
			path := fmt.Sprintf("%s: entries.%s[%d]", IndexFileName, name, i)
			if entry.Name != name {
				wrong = append(wrong, fmt.Errorf("%s.name: %q is not %q", path, entry.Name, name))
			}
			if len(entry.URLs) == 0 {
				wrong = append(wrong, fmt.Errorf("%s.urls: required", path))
			}
			if _, err := parameters.Compare(entry.OperatorVersion, entry.OperatorVersion); err != nil {
				wrong = append(wrong, fmt.Errorf("%s.operatorVersion: %w", path, err))
			}
		}
	}
	if len(wrong) > 0 {
		return errors.Join(wrong...)
	}
	x.sort()
	return nil
}

func (x *Index) sort() {
	for _, entries := range x.Entries {
		slices.SortStableFunc(entries, func(a, b Entry) int {
			// Checked: every version is one.
			order, _ := parameters.Compare(b.OperatorVersion, a.OperatorVersion)
			if order == 0 {
				return strings.Compare(b.AppVersion, a.AppVersion)
			}
			return order
		})
	}
}

// Query asks for a package; empty versions stand for the newest.
type Query struct {
	Name, OperatorVersion, AppVersion string
}

// NotFoundError says that there is no repository, or that it does not have a package;
// it may be elsewhere.
type NotFoundError string

// Error is what is not there.
func (e NotFoundError) Error() string { return string(e) }

// Find is the newest package that a query is about. The error is a NotFoundError.
func (x *Index) Find(query Query) (*Entry, error) {
	entries, found := x.Entries[query.Name]
	if !found {
		return nil, NotFoundError(fmt.Sprintf("there is no package %q in the repository", query.Name))
	}
	for i, entry := range entries {
		if query.OperatorVersion != "" && query.OperatorVersion != entry.OperatorVersion ||
			query.AppVersion != "" && query.AppVersion != entry.AppVersion {
			continue
		}
		match := entries[i]
		match.location = x.location
		return &match, nil
	}
	var known []string
	for _, entry := range entries {
		known = append(known, entry.VersionName())
	}
	return nil, NotFoundError(fmt.Sprintf("there is no such version of package %q in the repository, only %s", query.Name, strings.Join(known, ", ")))
}

// Search are the packages with a word in their name or description, by name, the
// newest version of each first. The empty word finds all.
func (x *Index) Search(word string) []Entry {
	word = strings.ToLower(word)
	var all []Entry
	for _, name := range slices.Sorted(maps.Keys(x.Entries)) {
		for _, entry := range x.Entries[name] {
			if strings.Contains(strings.ToLower(name), word) || strings.Contains(strings.ToLower(entry.Description), word) {
				all = append(all, entry)
			}
		}
	}
	return all
}

// Bytes is the index as a file.
func (x *Index) Bytes() ([]byte, error) { return yaml.Marshal(x) }
