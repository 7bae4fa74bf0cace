package repo

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"holdfast.dev/holdfast/internal/operator/pack"
)

// The sizes of the largest index and package that are read, in bytes.
const (
	maxIndex   = 8 << 20
	maxPackage = 8 << 20
)

// Client reads indexes and packages. It never goes from https to http: not for a redirect,
// and not for a URL in an index. The zero value is ready for use.
type Client struct {
	// HTTP sends the requests; nil means http.DefaultClient.
	HTTP *http.Client
	// SkipDigest also accepts packages that have no digest in the index.
	SkipDigest bool
}

// MissingDigestError means that the index of a repository has no digest for a package, so
// that the package cannot be checked.
type MissingDigestError struct {
	// Repository is the location of the repository, Package the name of the OperatorVersion.
	Repository, Package string
}

// Error returns the message.
func (e MissingDigestError) Error() string {
	return fmt.Sprintf("repository %s: package %s: the index has no digest, so that the package cannot be checked", e.Repository, e.Package)
}

// Index reads the index of a repository, which is a URL or a folder.
func (c Client) Index(ctx context.Context, location string) (*Index, error) {
	text, err := c.fetch(ctx, join(location, IndexFileName), maxIndex)
	if err != nil {
		return nil, fmt.Errorf("repository %s: %w", location, err)
	}
	index, err := Parse(text)
	if err != nil {
		return nil, fmt.Errorf("repository %s: %w", location, err)
	}
	index.location = location
	return index, nil
}

// Package reads the package of an entry from the first of its URLs that can be read. If the
// package has another digest than the entry, Package returns an error. If the entry has no
// digest, Package returns a MissingDigestError, unless SkipDigest is set.
func (c Client) Package(ctx context.Context, e *Entry) (*pack.Package, error) {
	if e.Digest == "" && !c.SkipDigest {
		return nil, MissingDigestError{Repository: e.location, Package: e.VersionName()}
	}
	var failed []error
	for _, location := range e.URLs {
		if !isURL(location) {
			location = join(e.location, location)
		}
		if err := CheckLink(e.location, location); err != nil {
			failed = append(failed, err)
			continue
		}
		text, err := c.fetch(ctx, location, maxPackage)
		if err != nil {
			failed = append(failed, err)
			continue
		}
		if digest := Digest(text); e.Digest != "" && !strings.EqualFold(digest, e.Digest) {
			return nil, fmt.Errorf("package %s: the digest is %s, the index says %s", location, digest, e.Digest)
		}
		return read(location, text)
	}
	return nil, fmt.Errorf("repository %s: package %s: %w", e.location, e.VersionName(), errors.Join(failed...))
}

// PackageAt reads a package from a URL.
func (c Client) PackageAt(ctx context.Context, location string) (*pack.Package, error) {
	text, err := c.fetch(ctx, location, maxPackage)
	if err != nil {
		return nil, fmt.Errorf("package: %w", err)
	}
	return read(location, text)
}

// read decodes a package from the text of a .tgz.
func read(location string, text []byte) (*pack.Package, error) {
	files, err := pack.ReadArchive(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("read package %s: %w", location, err)
	}
	p, err := files.Parse()
	if err != nil {
		return nil, fmt.Errorf("read package %s: %w", location, err)
	}
	if isURL(location) {
		locate(p, location)
	}
	return p, nil
}

// locate sets the location of a package and of the packages that it bundles.
func locate(p *pack.Package, location string) {
	for _, each := range p.All() {
		each.Location = location
	}
}

// Digest returns the SHA-256 of a package in hexadecimal, as an index holds it.
func Digest(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

func isURL(location string) bool { return pack.IsURL(location) }

// join returns the location of a file in a repository.
func join(location, name string) string {
	if !isURL(location) {
		return filepath.Join(location, filepath.FromSlash(name))
	}
	if joined, err := url.JoinPath(location, name); err == nil {
		return joined
	}
	return strings.TrimSuffix(location, "/") + "/" + name
}

// fetch reads a file from a URL or a path, up to a limit of bytes.
func (c Client) fetch(ctx context.Context, location string, limit int64) ([]byte, error) {
	if !isURL(location) {
		file, err := os.Open(location)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		return bounded(location, file, limit)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, location, http.NoBody)
	if err != nil {
		return nil, err
	}
	response, err := c.secured().Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", location, response.Status)
	}
	return bounded(location, response.Body, limit)
}

// bounded reads all content and fails if it is larger than the limit.
func bounded(location string, content io.Reader, limit int64) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(content, limit+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", location, err)
	}
	if int64(len(text)) > limit {
		return nil, fmt.Errorf("%s: larger than %d MiB", location, limit>>20)
	}
	return text, nil
}
