package repo_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdfast.dev/holdfast/internal/operator/repo"
)

// TestHTTPSNeverLeadsToHTTP reads a repository over https whose index, packages or URLs lead
// to http. The http server has the same files, so only the rule makes the reads fail.
func TestHTTPSNeverLeadsToHTTP(t *testing.T) {
	folder := indexed(t, "0.1.0")
	files := http.FileServer(http.Dir(folder))
	plain, other := httptest.NewServer(files), httptest.NewTLSServer(files)
	defer plain.Close()
	defer other.Close()
	redirect := func(base string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, base+r.URL.Path, http.StatusFound)
		})
	}
	index := func(location string) http.Handler {
		text := strings.ReplaceAll(string(mustRead(t, filepath.Join(folder, "index.yaml"))), "- tok-", "- "+location+"/tok-")
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(text)) })
	}
	const refused = "never leads to http"
	tests := map[string]struct {
		// handlers are the handlers of the secure server, by path; the files are behind the
		// other paths.
		handlers map[string]http.Handler
		want     string
	}{
		"files only":                   {},
		"index redirected to https":    {handlers: map[string]http.Handler{"/index.yaml": redirect(other.URL)}},
		"package redirected to https":  {handlers: map[string]http.Handler{"/tok-0.1.0.tgz": redirect(other.URL)}},
		"package at another https URL": {handlers: map[string]http.Handler{"/index.yaml": index(other.URL)}},
		"index redirected to http":     {handlers: map[string]http.Handler{"/index.yaml": redirect(plain.URL)}, want: refused},
		"package redirected to http":   {handlers: map[string]http.Handler{"/tok-0.1.0.tgz": redirect(plain.URL)}, want: refused},
		"package at an http URL":       {handlers: map[string]http.Handler{"/index.yaml": index(plain.URL)}, want: refused},
		"index redirected twice": {
			handlers: map[string]http.Handler{"/index.yaml": redirect("/hop"), "/hop/index.yaml": redirect(plain.URL)}, want: refused,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			mux := http.NewServeMux()
			mux.Handle("/", files)
			for path, handler := range test.handlers {
				mux.Handle(path, handler)
			}
			secure := httptest.NewTLSServer(mux)
			defer secure.Close()
			client := repo.Client{HTTP: secure.Client()}
			got := ""
			if err := read(t, client, secure.URL); err != nil {
				got = err.Error()
			}
			if (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// read reads the index at a location and the package tok in it.
func read(t *testing.T, client repo.Client, location string) error {
	t.Helper()
	index, err := client.Index(t.Context(), location)
	if err != nil {
		return err
	}
	entry, err := index.Find(repo.Query{Name: "tok"})
	if err != nil {
		return err
	}
	_, err = client.Package(t.Context(), entry)
	return err
}

func TestPackageWithoutDigest(t *testing.T) {
	folder := indexed(t, "0.1.0")
	file := filepath.Join(folder, "index.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for line := range strings.Lines(string(text)) {
		if !strings.Contains(line, "digest:") {
			lines = append(lines, line)
		}
	}
	write(t, file, []byte(strings.Join(lines, "")))
	want := repo.MissingDigestError{Repository: folder, Package: "tok-1.0-0.1.0"}
	var got repo.MissingDigestError
	if err := read(t, repo.Client{}, folder); !errors.As(err, &got) || got != want {
		t.Errorf("got %v, want %v", err, want)
	}
	if err := read(t, repo.Client{SkipDigest: true}, folder); err != nil {
		t.Errorf("with SkipDigest: %v", err)
	}
}
