package kudo

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"holdfast.dev/holdfast/internal/cli/command"
	"holdfast.dev/holdfast/internal/operator/pack"
	"holdfast.dev/holdfast/internal/operator/repo"
)

// fetchTimeout is the time for reading one file from a repository.
const fetchTimeout = time.Minute

// source holds the flags that select a repository and a package in it.
type source struct {
	// repository is a name in the list of repositories, a URL, a folder or an index file.
	repository string
	// list is the file with the list of repositories.
	list                        string
	operatorVersion, appVersion string
	// skipDigest accepts packages that have no digest in the index of the repository.
	skipDigest bool
}

// skipDigestFlag is the flag that sets skipDigest.
const skipDigestFlag = "insecure-skip-digest"

// addList adds the flag for the list of repositories.
func (s *source) addList(flags *pflag.FlagSet) {
	flags.StringVar(&s.list, "repositories", "", "file with the list of repositories (default: repositories.yaml in the user's "+
		"configuration of holdfast)")
}

func (s *source) addRepository(flags *pflag.FlagSet) {
	s.addList(flags)
	flags.StringVar(&s.repository, "repo", "", "repository: a name from the list, a URL, a folder or an index file (default: the first of "+
		"the list)")
}

// addFlags adds the flags of commands that take a package.
func (s *source) addFlags(flags *pflag.FlagSet) {
	s.addRepository(flags)
	flags.StringVar(&s.operatorVersion, "operator-version", "", "version of a package from a repository (default: the newest)")
	flags.StringVar(&s.appVersion, "app-version", "", "app version of a package from a repository (default: any)")
	flags.BoolVar(&s.skipDigest, skipDigestFlag, false, "accept packages that have no digest in the index of the repository, and so "+
		"cannot be checked")
}

// fetchError is an error of a repository or of the server of a package. Advice about the API
// server is not for it.
type fetchError struct{ error }

// asFetchError returns an error as a fetchError, nil for nil.
func asFetchError(err error) error {
	if err == nil {
		return nil
	}
	return fetchError{err}
}

// Unwrap returns the error itself.
func (e fetchError) Unwrap() error { return e.error }

// Elsewhere tells that the error is not one of the API server.
func (fetchError) Elsewhere() {}

// load reads a package. The location is a URL, a folder or a .tgz, or else a name in a
// repository.
func (s *source) load(ctx context.Context, location string) (*pack.Package, error) {
	if isURL(location) {
		p, err := s.client().PackageAt(ctx, location)
		return p, asFetchError(err)
	}
	_, err := os.Stat(location)
	if isPath(location) || !errors.Is(err, fs.ErrNotExist) {
		return pack.Load(location)
	}
	index, err := s.index(ctx)
	if err != nil {
		return nil, fmt.Errorf("package %s is no folder or file here: %w", location, err)
	}
	entry, err := index.Find(repo.Query{Name: location, OperatorVersion: s.operatorVersion, AppVersion: s.appVersion})
	if err != nil {
		return nil, err
	}
	return s.fetchEntry(ctx, entry)
}

// fetchEntry reads the package of an entry of an index.
func (s *source) fetchEntry(ctx context.Context, entry *repo.Entry) (*pack.Package, error) {
	p, err := s.client().Package(ctx, entry)
	err = asFetchError(err)
	var missing repo.MissingDigestError
	if errors.As(err, &missing) {
		return nil, fmt.Errorf("%w: write the index again with \"holdfast kudo repo index\", or accept the package with --%s",
			missing, skipDigestFlag)
	}
	return p, err
}

// verified reads a package and returns an error if it has failures.
func (s *source) verified(ctx context.Context, location string) (*pack.Package, error) {
	p, err := s.load(ctx, location)
	if err != nil {
		return nil, err
	}
	if err := p.Verify().Err(); err != nil {
		return nil, command.Refused(fmt.Errorf("package %s is not valid:\n%w", location, err))
	}
	return p, nil
}

// index reads the index of the repository.
func (s *source) index(ctx context.Context) (*repo.Index, error) {
	location := s.repository
	if !isURL(location) && !isPath(location) {
		_, list, err := s.repositories()
		if err != nil {
			return nil, err
		}
		found, err := list.Find(location)
		if err != nil {
			return nil, err
		}
		location = found.URL
	}
	index, err := s.client().Index(ctx, repository(location))
	return index, asFetchError(err)
}

// repositories reads the list of repositories and returns it with the path of its file.
func (s *source) repositories() (string, *repo.Repositories, error) {
	file := s.list
	if file == "" {
		config, err := os.UserConfigDir()
		if err != nil {
			return "", nil, errors.New("no home directory with a list of repositories: name one with --repositories")
		}
		file = filepath.Join(config, "holdfast", "repositories.yaml")
	}
	list, err := repo.ReadRepositories(file)
	if err != nil {
		return "", nil, fmt.Errorf("list of repositories: %w", err)
	}
	return file, list, nil
}

// listedURL returns the URL of a repository of the list.
func (s *source) listedURL(name string) (string, error) {
	_, list, err := s.repositories()
	if err != nil {
		return "", err
	}
	found, err := list.Find(name)
	if err != nil {
		return "", err
	}
	if !isURL(found.URL) {
		return "", fmt.Errorf("repository %s is the folder %s and has no URL: give one with --url", name, found.URL)
	}
	return found.URL, nil
}

// repository returns the location of a repository. The given location may also be that of
// the index file in the repository.
func repository(location string) string {
	if folder, found := strings.CutSuffix(location, "/"+repo.IndexFileName); found {
		return folder
	}
	if location == repo.IndexFileName {
		return "."
	}
	return location
}

func isURL(location string) bool { return pack.IsURL(location) }

// isPath reports whether a location is a path rather than the name of a package.
func isPath(location string) bool {
	return strings.ContainsRune(location, '/') || strings.ContainsRune(location, filepath.Separator) ||
		location == "." || location == ".." || strings.HasSuffix(location, ".tgz") || strings.HasSuffix(location, ".yaml")
}

// client returns the client that reads indexes and packages.
func (s *source) client() repo.Client {
	return repo.Client{HTTP: &http.Client{Timeout: fetchTimeout}, SkipDigest: s.skipDigest}
}
