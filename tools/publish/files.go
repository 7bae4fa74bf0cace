package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// checksums has the checksums of all other files.
const checksums = "checksums.txt"

// files are the files of the release, on a web server.
type files struct{ *publication }

func (f *files) String() string { return "files at " + redacted(f.Uploads) + "/" + f.version }

func (f *files) reach(ctx context.Context) error {
	_, err := f.digestAt(ctx, f.Uploads, checksums)
	return err
}

// published compares the checksums first, which are the last file that publish writes: if the server has them, it has all files.
func (f *files) published(ctx context.Context) (bool, error) {
	same, err := f.sameAt(ctx, f.Uploads, checksums)
	if same && err == nil {
		return f.sameAt(ctx, f.Downloads, checksums)
	}
	if err != nil {
		return false, err
	}
	names, err := f.names()
	if err != nil {
		return false, err
	}
	var problems []error
	for _, name := range names {
		if _, err := f.sameAt(ctx, f.Uploads, name); err != nil {
			problems = append(problems, err)
		}
	}
	return false, errors.Join(problems...)
}

func (f *files) publish(ctx context.Context) error {
	names, err := f.names()
	if err != nil {
		return err
	}
	for _, name := range names {
		if same, err := f.sameAt(ctx, f.Uploads, name); err != nil {
			return err
		} else if same {
			continue
		}
		if err := f.upload(ctx, name, filepath.Join(f.files, name)); err != nil {
			return err
		}
	}
	same, err := f.sameAt(ctx, f.Downloads, checksums)
	if err == nil && !same {
		err = fmt.Errorf("the files are uploaded, but users do not find them at %s/%s: HOLDFAST_DOWNLOADS must lead to HOLDFAST_UPLOADS", f.Downloads, f.version)
	}
	return err
}

// names returns the names of the files, the checksums last. It is an error if a file is not the one that the checksums name.
func (f *files) names() ([]string, error) {
	text, err := os.ReadFile(filepath.Join(f.files, checksums))
	if err != nil {
		return nil, err
	}
	var names []string
	for line := range strings.Lines(string(text)) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		found, err := digestOfFile(filepath.Join(f.files, name))
		if err != nil {
			return nil, err
		}
		if found != sum {
			return nil, fmt.Errorf("%s is not the file that %s names", name, checksums)
		}
		names = append(names, name)
	}
	return append(names, checksums), nil
}

// sameAt reports whether a server has a file of the release. It is an error if the server has another file of that name.
func (p *publication) sameAt(ctx context.Context, server, name string) (bool, error) {
	found, err := p.digestAt(ctx, server, name)
	if err != nil || found == "" {
		return false, err
	}
	want, err := digestOfFile(filepath.Join(p.files, name))
	if err == nil && found != want {
		err = fmt.Errorf("%s has another %s of this version: a published version is never replaced. The same commit gives the same files with the same version of Go",
			redacted(server), name)
	}
	return err == nil, err
}

// digestAt returns the digest of a file of this version on a server, or nothing if the server does not have it.
func (p *publication) digestAt(ctx context.Context, server, name string) (string, error) {
	response, err := p.request(ctx, http.MethodGet, server, name, nil, 0)
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }()
	switch response.StatusCode {
	case http.StatusOK:
		sum := sha256.New()
		if _, err := io.Copy(sum, response.Body); err != nil {
			return "", fmt.Errorf("read %s: %w", name, err)
		}
		return fmt.Sprintf("%x", sum.Sum(nil)), nil
	case http.StatusNotFound:
		return "", nil
	}
	return "", fmt.Errorf("GET %s: %s", name, response.Status)
}

// upload writes a file to the server.
func (p *publication) upload(ctx context.Context, name, path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	response, err := p.request(ctx, http.MethodPut, p.Uploads, name, file, info.Size())
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode/100 != 2 {
		return fmt.Errorf("PUT %s: %s", name, response.Status)
	}
	p.say("uploaded %s", name)
	return nil
}

// request sends a request about a file of this version. Only the server for uploads gets the credentials.
func (p *publication) request(ctx context.Context, method, server, name string, body io.Reader, size int64) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(server, "/")+"/"+p.version+"/"+name, body)
	if err != nil {
		return nil, err
	}
	if body != nil {
		request.ContentLength = size
	}
	if p.authorization != "" && server == p.Uploads {
		request.Header.Set("Authorization", p.authorization)
	}
	response, err := http.DefaultClient.Do(request)
	var of *url.Error
	if errors.As(err, &of) {
		return nil, fmt.Errorf("%s %s: %w", method, name, of.Err)
	}
	return response, err
}

func digestOfFile(path string) (string, error) {
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

// redacted returns an address without its password.
func redacted(address string) string {
	if parsed, err := url.Parse(address); err == nil && parsed.User != nil {
		return parsed.Redacted()
	}
	return address
}
