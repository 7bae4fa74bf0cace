package repo

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/api"
	"holdfast.dev/holdfast/parameters"
)

// IndexFileName is the name of the index in a repository.
const IndexFileName = "index.yaml"

// Index is the list of packages in a repository, by name.
type Index struct {
	APIVersion string             `json:"apiVersion,omitempty"`
	Entries    map[string][]Entry `json:"entries"`
	Generated  *metav1.Time       `json:"generated,omitempty"`

	// location is the repository that the index was read from.
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
	// URLs are the locations of the package, each absolute or relative to the repository.
	URLs []string `json:"urls"`
	// Digest is the SHA-256 of the package, in hexadecimal.
	Digest string `json:"digest,omitempty"`

	location string
}

// VersionName returns the name of the entry's OperatorVersion.
func (e *Entry) VersionName() string {
	return api.OperatorVersionName(e.Name, e.AppVersion, e.OperatorVersion)
}

// Parse decodes and checks an index. The versions of a package are sorted, newest first.
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

// check validates the entries and sorts them.
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

// sort sorts the versions of each package, newest first.
func (x *Index) sort() {
	for _, entries := range x.Entries {
		slices.SortStableFunc(entries, func(a, b Entry) int {
			// The error is nil because check has parsed every version.
			order, _ := parameters.Compare(b.OperatorVersion, a.OperatorVersion)
			if order == 0 {
				return strings.Compare(b.AppVersion, a.AppVersion)
			}
			return order
		})
	}
}

// Merge adds the packages of another index to the index of a folder. A version that both have
// stays as it is. The URLs of added packages are relative to the other index, so they change.
func (x *Index) Merge(other *Index, folder string) error {
	for name, entries := range other.Entries {
		for _, entry := range entries {
			if slices.ContainsFunc(x.Entries[name], func(known Entry) bool { return known.VersionName() == entry.VersionName() }) {
				continue
			}
			entry.URLs = slices.Clone(entry.URLs)
			for i, url := range entry.URLs {
				var err error
				if entry.URLs[i], err = other.seenFrom(folder, url); err != nil {
					return err
				}
			}
			x.Entries[name] = append(x.Entries[name], entry)
		}
	}
	x.sort()
	return nil
}

// seenFrom returns the location of a package that the index names for an index in a folder.
func (x *Index) seenFrom(folder, location string) (string, error) {
	if isURL(location) {
		return location, nil
	}
	location = join(x.location, location)
	if isURL(location) {
		return location, nil
	}
	from, err := filepath.Abs(folder)
	if err != nil {
		return "", err
	}
	if location, err = filepath.Abs(location); err != nil {
		return "", err
	}
	relative, err := filepath.Rel(from, location)
	return filepath.ToSlash(relative), err
}

// Query selects a package. Empty versions match any version.
type Query struct {
	Name, OperatorVersion, AppVersion string
}

// NotFoundError means that there is no repository, or that the repository does not have
// the package. Its text is the message. A caller may look for the package elsewhere.
type NotFoundError string

// Error returns the message.
func (e NotFoundError) Error() string { return string(e) }

// Find returns the newest version that matches a query. The error is a NotFoundError.
func (x *Index) Find(query Query) (*Entry, error) {
	entries, found := x.Entries[query.Name]
	if !found {
		return nil, NotFoundError(fmt.Sprintf("there is no package %q in the repository%s", query.Name,
			parameters.Suggestion(query.Name, slices.Sorted(maps.Keys(x.Entries)))))
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
	return nil, NotFoundError(fmt.Sprintf("there is no such version of package %q in the repository, only %s",
		query.Name, strings.Join(known, ", ")))
}

// Search returns all versions of the packages that have a word in their name or
// description, sorted by name, newest version first. The empty word matches all.
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

// WithoutDigest returns the names of the packages, with their versions, that the index has no
// digest for.
func (x *Index) WithoutDigest() []string {
	var names []string
	for _, entry := range x.Search("") {
		if entry.Digest == "" {
			names = append(names, entry.VersionName())
		}
	}
	return names
}

// Bytes returns the index as YAML, the content of index.yaml.
func (x *Index) Bytes() ([]byte, error) { return yaml.Marshal(x) }
