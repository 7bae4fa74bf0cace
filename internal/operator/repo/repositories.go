package repo

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/parameters"
)

// Repositories is the list of repositories that a user has added. The first one is the
// default.
type Repositories struct {
	Repositories []Repository `json:"repositories"`
}

// Repository is a repository with the name that the user gave it. URL is a URL or a
// folder.
type Repository struct {
	Name string `json:"name"`
	URL  string `json:"url"`
}

// ReadRepositories reads the list from a file. The list is empty if the file does not
// exist.
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

// Write writes the list to a file atomically. An empty list has no file, as before the first repository.
func (r *Repositories) Write(file string) error {
	if len(r.Repositories) == 0 {
		if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	text, err := yaml.Marshal(r)
	if err != nil {
		return err
	}
	folder := filepath.Dir(file)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	temporary, err := os.CreateTemp(folder, ".repositories-*")
	if err != nil {
		return err
	}
	defer os.Remove(temporary.Name())
	_, err = temporary.Write(text)
	if err := errors.Join(err, temporary.Close()); err != nil {
		return err
	}
	return os.Rename(temporary.Name(), file)
}

// Add adds a repository, or replaces the one with the same name.
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

// Prefer makes a repository the default one.
func (r *Repositories) Prefer(name string) error {
	preferred, err := r.Find(name)
	if err != nil {
		return err
	}
	rest := slices.DeleteFunc(r.Repositories, func(known Repository) bool { return known.Name == preferred.Name })
	r.Repositories = append([]Repository{preferred}, rest...)
	return nil
}

// Find returns the repository with a name, or the first one if the name is empty. The
// error is a NotFoundError if the list is empty.
func (r *Repositories) Find(name string) (Repository, error) {
	for _, known := range r.Repositories {
		if name == "" || known.Name == name {
			return known, nil
		}
	}
	if name == "" {
		return Repository{}, NotFoundError("there is no repository: add one with \"holdfast kudo repo add\"")
	}
	var all []string
	for _, known := range r.Repositories {
		all = append(all, known.Name)
	}
	return Repository{}, fmt.Errorf("there is no repository %q: \"holdfast kudo repo list\" lists those that exist%s", name,
		parameters.Suggestion(name, all))
}
