package repo_test

import (
	"bytes"
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/internal/operator/pack"
	"holdfast.dev/holdfast/internal/operator/repo"
)

// packages writes an archive of each version into a new folder and returns its path.
func packages(t *testing.T, versions ...string) string {
	t.Helper()
	folder := t.TempDir()
	for _, version := range versions {
		files := pack.Files{"operator.yaml": []byte("name: tok\ndescription: Holds Tokens\n" +
			"operatorVersion: " + version + "\nappVersion: \"1.0\"\ntasks: [{name: a, kind: Dummy}]\n" +
			"plans: {deploy: {phases: [{name: p, steps: [{name: s, tasks: [a]}]}]}}\n")}
		archive := &bytes.Buffer{}
		if err := files.Archive(archive); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(folder, "tok-"+version+".tgz"), archive.Bytes())
	}
	return folder
}

func write(t *testing.T, file string, text []byte) {
	t.Helper()
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// indexed writes packages and their index into a new folder and returns its path.
func indexed(t *testing.T, versions ...string) string {
	t.Helper()
	folder := packages(t, versions...)
	index, err := repo.Build(folder, "", metav1.NewTime(time.Unix(0, 0)))
	if err != nil {
		t.Fatal(err)
	}
	text, err := index.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(folder, "index.yaml"), text)
	return folder
}

func TestRepository(t *testing.T) {
	folder := indexed(t, "0.9.0", "0.10.0", "0.2.0")
	server := httptest.NewServer(http.FileServer(http.Dir(folder)))
	defer server.Close()
	client := repo.Client{HTTP: server.Client()}
	for name, location := range map[string]string{"folder": folder, "URL": server.URL} {
		t.Run(name, func(t *testing.T) {
			index, err := client.Index(t.Context(), location)
			if err != nil {
				t.Fatal(err)
			}
			var found []string
			for _, entry := range index.Search("TOKENS") {
				found = append(found, entry.VersionName())
			}
			if diff := cmp.Diff([]string{"tok-1.0-0.10.0", "tok-1.0-0.9.0", "tok-1.0-0.2.0"}, found); diff != "" {
				t.Errorf("search (-want +got):\n%s", diff)
			}
			if none := index.Search("kafka"); none != nil {
				t.Errorf("search found %v", none)
			}
			for query, want := range map[repo.Query]string{
				{Name: "tok"}:                           "0.10.0",
				{Name: "tok", OperatorVersion: "0.2.0"}: "0.2.0",
				{Name: "tok", AppVersion: "1.0"}:        "0.10.0",
			} {
				entry, err := index.Find(query)
				if err != nil {
					t.Fatal(err)
				}
				p, err := client.Package(t.Context(), entry)
				if err != nil {
					t.Fatal(err)
				}
				if p.Operator.OperatorVersion != want {
					t.Errorf("%v: got %s", query, p.Operator.OperatorVersion)
				}
			}
			for query, want := range map[repo.Query]string{
				{Name: "kafka"}: `there is no package "kafka" in the repository`,
				{Name: "tok", AppVersion: "99.0"}: `there is no such version of package "tok" in the repository, ` +
					`only tok-1.0-0.10.0, tok-1.0-0.9.0, tok-1.0-0.2.0`,
			} {
				if _, err := index.Find(query); err == nil || err.Error() != want {
					t.Errorf("%v: got %v, want %s", query, err, want)
				}
			}
		})
	}
	p, err := client.PackageAt(t.Context(), server.URL+"/tok-0.9.0.tgz")
	if err != nil || p.Operator.OperatorVersion != "0.9.0" {
		t.Errorf("by its URL: %v", err)
	}
	_, err = client.PackageAt(t.Context(), server.URL+"/gone.tgz")
	if err == nil || !strings.HasSuffix(err.Error(), "/gone.tgz: 404 Not Found") {
		t.Errorf("got %v", err)
	}
}

func TestDigest(t *testing.T) {
	folder := indexed(t, "0.1.0")
	other := packages(t, "0.2.0")
	text, err := os.ReadFile(filepath.Join(other, "tok-0.2.0.tgz"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(folder, "tok-0.1.0.tgz"), text)
	index, err := repo.Client{}.Index(t.Context(), folder)
	if err != nil {
		t.Fatal(err)
	}
	entry, err := index.Find(repo.Query{Name: "tok"})
	if err != nil {
		t.Fatal(err)
	}
	want := "the digest is " + repo.Digest(text) + ", the index says " + entry.Digest
	if _, err := (repo.Client{}).Package(t.Context(), entry); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v", err)
	}
}

func TestBuildRefuses(t *testing.T) {
	folder := packages(t, "0.1.0", "newest")
	write(t, filepath.Join(folder, "same.tgz"), mustRead(t, filepath.Join(folder, "tok-0.1.0.tgz")))
	write(t, filepath.Join(folder, "junk.tgz"), []byte("junk"))
	_, err := repo.Build(folder, "https://example.com", metav1.Time{})
	if err == nil {
		t.Fatal("built an index of invalid packages")
	}
	for _, want := range []string{
		"read package " + filepath.Join(folder, "junk.tgz") + ": not a .tgz",
		"tok-0.1.0.tgz: tok-1.0-0.1.0 is also https://example.com/same.tgz",
		`operator.yaml: operatorVersion: "newest" is not a semantic version`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("got %v\nwithout %s", err, want)
		}
	}
}

func mustRead(t *testing.T, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestParseRefuses(t *testing.T) {
	tests := map[string]struct{ text, want string }{
		"no entries": {"{}", "index.yaml: entries: required"},
		"invalid entries": {
			"entries: {a: [{name: b, operatorVersion: x}]}",
			"index.yaml: entries.a[0].name: \"b\" is not \"a\"\nindex.yaml: entries.a[0].urls: required\n" +
				"index.yaml: entries.a[0].operatorVersion: \"x\" is not a semantic version",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if _, err := repo.Parse([]byte(test.text)); err == nil || err.Error() != test.want {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
	folder := t.TempDir()
	write(t, filepath.Join(folder, "index.yaml"), make([]byte, 9<<20))
	if _, err := (repo.Client{}).Index(t.Context(), folder); err == nil || !strings.HasSuffix(err.Error(), "index.yaml: larger than 8 MiB") {
		t.Errorf("got %v", err)
	}
}

func TestRepositories(t *testing.T) {
	file := filepath.Join(t.TempDir(), "deep", "repositories.yaml")
	list, err := repo.ReadRepositories(file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := list.Find(""); err == nil || err.Error() != `there is no repository: add one with "holdfast kudo repo add"` {
		t.Errorf("got %v", err)
	}
	for _, each := range []repo.Repository{{Name: "a", URL: "/a"}, {Name: "b", URL: "/b"}, {Name: "a", URL: "/other"}} {
		if err := list.Add(each); err != nil {
			t.Fatal(err)
		}
	}
	if err := list.Add(repo.Repository{Name: "c"}); err == nil {
		t.Error("added a repository without a URL")
	}
	if err := list.Write(file); err != nil {
		t.Fatal(err)
	}
	again, err := repo.ReadRepositories(file)
	if err != nil {
		t.Fatal(err)
	}
	want := []repo.Repository{{Name: "a", URL: "/other"}, {Name: "b", URL: "/b"}}
	if diff := cmp.Diff(want, again.Repositories); diff != "" {
		t.Errorf("repositories (-want +got):\n%s", diff)
	}
	for name, want := range map[string]string{"": "/other", "b": "/b"} {
		if got, err := again.Find(name); err != nil || got.URL != want {
			t.Errorf("%q: %v %v", name, got, err)
		}
	}
	if _, err := again.Find("z"); err == nil || err.Error() != `there is no repository "z": "holdfast kudo repo list" lists those that exist` {
		t.Errorf("got %v", err)
	}
	if err := (&repo.Repositories{}).Write(file); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an empty list has a file: %v", err)
	}
	if err := (&repo.Repositories{}).Write(file); err != nil {
		t.Errorf("write an empty list again: %v", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("entries: {a: [{name: a, operatorVersion: 0.1.0, urls: [x]}, {name: a, operatorVersion: 0.2.0, urls: [x]}]}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		index, err := repo.Parse(text)
		if err != nil {
			return
		}
		index.Search("a")
		again, err := index.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := repo.Parse(again); err != nil {
			t.Errorf("the written index cannot be parsed: %v", err)
		}
	})
}
