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
	"testing"
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

	c.must(t, "install", server.URL+"/tok-1.0-0.1.0.tgz", "-p", "REALM=r", "--wait")
	c.must(t, "install", "tok", "--repo", server.URL, "--operator-version", "0.1.0", "-p", "REALM=r", "--instance", "second", "--wait")
	c.must(t, "upgrade", "tok", "--repo", server.URL, "--instance", "second", "-p", "BARE=b", "-p", "NEW=n", "-p", "LATER=l", "--wait")
	if got := c.instance(t, "second").Spec.OperatorVersion.Name; got != "tok-1.0-0.2.0" {
		t.Errorf("upgraded to %s", got)
	}
}
