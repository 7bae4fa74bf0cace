package kudo_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"holdfast.dev/holdfast/internal/cli/kudo"
	"holdfast.dev/holdfast/internal/operator/pack"
)

// testURLs checks packages at a URL and in a repository at a URL.
func testURLs(t *testing.T, c cluster) {
	repository := t.TempDir()
	for version, params := range map[string]string{"0.1.0": first, "0.2.0": second} {
		offline(t, "package", "create", tok(t, version, params), "-d", repository)
	}
	offline(t, "repo", "index", repository)
	// Also files that must be refused: an archive that unpacks to 40 MiB, a file of 9 MiB, and
	// a web page.
	bomb := &bytes.Buffer{}
	zipped := gzip.NewWriter(bomb)
	entries := tar.NewWriter(zipped)
	err := entries.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "zeros", Size: 40 << 20})
	if err == nil {
		_, err = entries.Write(make([]byte, 40<<20))
	}
	if err := errors.Join(err, entries.Close(), zipped.Close()); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{
		"bomb.tgz": bomb.Bytes(), "large.tgz": make([]byte, 9<<20), "page.tgz": []byte("<html>"),
	} {
		if err := os.WriteFile(filepath.Join(repository, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	files := http.FileServer(http.Dir(repository))
	server, secure := httptest.NewServer(files), httptest.NewTLSServer(files)
	defer server.Close()
	defer secure.Close()

	for location, want := range map[string]string{
		server.URL + "/large.tgz":          "/large.tgz: larger than 8 MiB",
		server.URL + "/bomb.tgz":           "/bomb.tgz: unpacks to more than 32 MiB",
		server.URL + "/page.tgz":           "/page.tgz: not a .tgz: ",
		server.URL + "/gone.tgz":           "/gone.tgz: 404 Not Found",
		secure.URL + "/tok-1.0-0.1.0.tgz":  "certificate",
		"http://127.0.0.1:1/tok-0.1.0.tgz": "connection refused",
	} {
		c.fails(t, want, "install", location, "-p", "REALM=r")
	}
	c.fails(t, `there is no package "other" in the repository`, "install", "other", "--repo", server.URL)
	c.fails(t, "certificate", "install", "tok", "--repo", secure.URL, "-p", "REALM=r")
	if got := c.names(t, "operators") + c.names(t, "operatorversions") + c.names(t, "instances"); got != "" {
		t.Errorf("left behind: %s", got)
	}

	c.must(t, "install", server.URL+"/tok-1.0-0.1.0.tgz", "--instance", "tok", "-p", "REALM=r", "--wait")
	c.must(t, "install", "tok", "--repo", server.URL, "--operator-version", "0.1.0", "-p", "REALM=r", "--instance", "second", "--wait")
	c.must(t, "upgrade", "tok", "--repo", server.URL, "--instance", "second", "-p", "BARE=b", "-p", "NEW=n", "-p", "LATER=l", "--wait")
	if got := c.instance(t, "second").Spec.OperatorVersion.Name; got != "tok-1.0-0.2.0" {
		t.Errorf("upgraded to %s", got)
	}
	testMissingDigest(t, c, repository)
}

// testMissingDigest checks every command that reads a package from a repository whose index has
// no digests.
func testMissingDigest(t *testing.T, c cluster, repository string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(repository, "index.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	text = regexp.MustCompile(`(?m)^ *digest: .*\n`).ReplaceAll(text, nil)
	if err := errors.Join(os.CopyFS(folder, os.DirFS(repository)),
		os.WriteFile(filepath.Join(folder, "index.yaml"), text, 0o600)); err != nil {
		t.Fatal(err)
	}
	want := "repository " + folder + ": package tok-1.0-0.2.0: the index has no digest, so that the package cannot be checked: " +
		`write the index again with "holdfast kudo repo index", or accept the package with --insecure-skip-digest`
	c.fails(t, want, "install", "tok", "--repo", folder, "-p", "REALM=r")
	c.fails(t, want, "upgrade", "tok", "--repo", folder)
	for _, args := range [][]string{{"package", "verify", "tok"}, {"package", "list", "parameters", "tok"}} {
		args = append(args, "--repo", folder)
		if _, err := run(t.Context(), args...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v", args, err)
		}
		offline(t, append(args, "--insecure-skip-digest")...)
	}
	warning := offline(t, "repo", "add", "unchecked", folder, "--repositories", filepath.Join(folder, "list.yaml"))
	if !strings.Contains(warning, "no digest for tok-1.0-0.2.0, tok-1.0-0.1.0; --insecure-skip-digest is needed to install them") {
		t.Errorf("repo add: %s", warning)
	}
	c.must(t, "install", "tok", "--repo", folder, "--insecure-skip-digest", "-p", "REALM=r", "-p", "NEW=n", "-p", "LATER=l", "-p", "BARE=b",
		"--instance", "unchecked", "--wait")
}

// A package that came over https must not name a package at an http URL.
func TestDependencyOverHTTP(t *testing.T) {
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	for location, want := range map[string]string{
		"https://example.com/a.tgz": "https://example.com/a.tgz leads to " + plain.URL + "/b.tgz: ",
		"http://example.com/a.tgz":  "404 Not Found",
		"":                          "404 Not Found",
	} {
		err := kudo.FetchDependency(t.Context(), &pack.Package{Location: location}, plain.URL+"/b.tgz")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("package from %q: got %v, want %s", location, err, want)
		}
	}
}
