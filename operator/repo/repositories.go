package repo

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"sigs.k8s.io/yaml"
)

// Repositories are those that a person has added, by name; the first is asked
// when none is named.
type Repositories struct {
	Repositories []Repository `json:"repositories"`
}

// Repository is a name for a URL or a folder.
type Repository struct {
	Name string `json:"name"`
	URL  string `json:"url"`
}

// ReadRepositories reads the list from a file; none if there is no file.
func ReadRepositories(file string) (*Repositories, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return &Repositories{}, nil
	}
	if err != nil {
		return nil, err
	}
	list := &Repositories{}
	if err := yaml.UnmarshalStrict(text, list); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return list, nil
}

// Write writes the list to a file, whole or not at all.
func (r *Repositories) Write(file string) error {
	text, err := yaml.Marshal(r)
	if err != nil {
		return err
	}
	folder := filepath.Dir(file)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	draft, err := os.CreateTemp(folder, ".repositories-*")
	if err != nil {
		return err
	}
	defer os.Remove(draft.Name())
	_, err = draft.Write(text)
	if err := errors.Join(err, draft.Close()); err != nil {
		return err
	}
	return os.Rename(draft.Name(), file)
}

// Add takes a repository, or another URL for one that is there.
func (r *Repositories) Add(repository Repository) error {
	if repository.Name == "" || repository.URL == "" {
		return errors.New("a repository has a name and a URL")
	}
	at := slices.IndexFunc(r.Repositories, func(known Repository) bool { return known.Name == repository.Name })
	if at >= 0 {
		r.Repositories[at] = repository
		return nil
	}
	r.Repositories = append(r.Repositories, repository)
	return nil
}

// Find is the repository of a name, or the first for "".
func (r *Repositories) Find(name string) (Repository, error) {
	for _, known := range r.Repositories {
		if name == "" || known.Name == name {
			return known, nil
		}
	}
	if name == "" {
		return Repository{}, NotFoundError("there is no repository: add one")
	}
	return Repository{}, fmt.Errorf("there is no repository %q", name)
}
