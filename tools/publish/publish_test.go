package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"aead.dev/minisign"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"holdfast.dev/holdfast/tools/bundle"
	"holdfast.dev/holdfast/tools/settings"
)

// TestMain is minisign if the program is started under that name: it signs with the same algorithm and file formats, for the
// arguments that publish uses.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) != "minisign" {
		os.Exit(m.Run())
	}
	if err := signFile(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func signFile(args []string) error {
	given := map[string]string{}
	for i := 1; i+1 < len(args); i += 2 {
		given[args[i]] = args[i+1]
	}
	key, err := minisign.PrivateKeyFromFile("password", given["-s"])
	if err != nil {
		return err
	}
	text, err := os.ReadFile(given["-m"])
	if err != nil {
		return err
	}
	return os.WriteFile(given["-x"], minisign.SignWithComments(key, text, given["-t"], ""), 0o600)
}

// webServer stores the files that clients PUT, if they have the right password.
type webServer struct {
	lock  sync.Mutex
	files map[string]string
	puts  int
	// failAt is the number of the PUT that fails.
	failAt int
}

const password = "Bearer letmein"

func (w *webServer) ServeHTTP(response http.ResponseWriter, request *http.Request) {
	w.lock.Lock()
	defer w.lock.Unlock()
	file, isUpload := strings.CutPrefix(request.URL.Path, "/uploads/")
	file = strings.TrimPrefix(file, "/downloads/")
	text, found := w.files[file]
	switch {
	case isUpload && request.Header.Get("Authorization") != password:
		http.Error(response, "wrong password", http.StatusUnauthorized)
	case !isUpload && request.Header.Get("Authorization") != "":
		http.Error(response, "the password went to the wrong server", http.StatusBadRequest)
	case request.Method == http.MethodPut:
		if w.puts++; w.puts == w.failAt {
			http.Error(response, "the disk is full", http.StatusInsufficientStorage)
			return
		}
		content, err := io.ReadAll(request.Body)
		if err != nil || int64(len(content)) != request.ContentLength {
			http.Error(response, "cut off", http.StatusBadRequest)
			return
		}
		w.files[file] = string(content)
		response.WriteHeader(http.StatusCreated)
	case !found:
		http.NotFound(response, request)
	default:
		_, _ = io.WriteString(response, text)
	}
}

// names returns the names of the stored files.
func (w *webServer) names() []string {
	w.lock.Lock()
	defer w.lock.Unlock()
	return slices.Sorted(maps.Keys(w.files))
}

// places are all that a release is published to, for a test.
type places struct {
	web      *webServer
	registry string
	checkout string
	settings settings.Settings
	public   minisign.PublicKey
	builds   int
	// built is the folder with the files of the release, once it is built.
	built string
}

func newPlaces(t *testing.T) *places {
	t.Helper()
	for name, value := range map[string]string{
		"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.com", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@example.com",
		"GIT_CONFIG_GLOBAL": os.DevNull, "GIT_CONFIG_SYSTEM": os.DevNull, "DOCKER_CONFIG": t.TempDir(),
	} {
		t.Setenv(name, value)
	}
	p := &places{web: &webServer{files: map[string]string{}}}
	web := httptest.NewServer(p.web)
	t.Cleanup(web.Close)
	images := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(images.Close)
	p.registry = strings.TrimPrefix(images.URL, "http://")
	p.checkout = t.TempDir()
	write(t, filepath.Join(p.checkout, "CHANGELOG.md"), "# Changelog\n\n## [1.2.3] - 2026-11-19\n")
	mustGit(t, p.checkout, "init", "--quiet")
	mustGit(t, p.checkout, "add", ".")
	mustGit(t, p.checkout, "commit", "--quiet", "--message", "one")
	bare := func() string {
		dir := t.TempDir()
		mustGit(t, dir, "init", "--quiet", "--bare")
		return dir
	}
	p.settings = settings.Settings{
		Image: p.registry + "/holdfast", Charts: p.registry + "/charts", Uploads: web.URL + "/uploads", Downloads: web.URL + "/downloads",
		Remote: bare(), Tap: bare(), KrewIndex: bare(), MinisignKey: p.newKey(t),
	}
	return p
}

// newKey writes a key, and makes the test program the minisign on the path.
func (p *places) newKey(t *testing.T) string {
	t.Helper()
	public, private, err := minisign.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	text, err := minisign.EncryptKey("password", private)
	if err != nil {
		t.Fatal(err)
	}
	key := filepath.Join(t.TempDir(), "minisign.key")
	write(t, key, string(text))
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Symlink(self, filepath.Join(dir, "minisign")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	p.public = public
	return key
}

// publish runs the command, and returns what it prints.
func (p *places) publish(t *testing.T, change func(*publication)) (string, error) {
	t.Helper()
	var out strings.Builder
	run := &publication{
		Settings: p.settings, authorization: password, version: "v1.2.3", checkout: p.checkout, files: filepath.Join(t.TempDir(), "release"), out: &out,
	}
	// A release of one commit is always the same, so the test builds it once.
	run.build = func(context.Context) error {
		p.builds++
		if p.built == "" {
			p.built = t.TempDir()
			if err := p.release(run.version, p.built).Write(p.programs(t)); err != nil {
				return err
			}
		}
		return os.CopyFS(run.files, os.DirFS(p.built))
	}
	if change != nil {
		change(run)
	}
	err := run.run(t.Context())
	return out.String(), err
}

func (p *places) release(version, out string) bundle.Release {
	return bundle.Release{
		Version: version, Commit: "0123abc", Date: time.Unix(1790000000, 0).UTC(), URL: p.settings.Downloads, Image: p.settings.Image,
		Source: filepath.Join("..", ".."), Out: out,
	}
}

// programs are the programs of a release, for which the test itself stands.
func (p *places) programs(t *testing.T) []bundle.Binary {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var binaries []bundle.Binary
	for _, platform := range bundle.Platforms {
		binaries = append(binaries, bundle.Binary{Platform: platform, Path: self})
	}
	return binaries
}

// digest returns the digest of an image in the registry, or nothing.
func (p *places) digest(t *testing.T, image string) string {
	t.Helper()
	at, err := name.NewTag(p.registry + "/" + image)
	if err != nil {
		t.Fatal(err)
	}
	found, err := remote.Head(at)
	if err != nil {
		return ""
	}
	return found.Digest.String()
}

// state is everything that is published.
func (p *places) state(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	fmt.Fprintln(&all, p.web.names())
	for _, image := range []string{"holdfast:v1.2.3", "charts/holdfast-guard:1.2.3"} {
		fmt.Fprintln(&all, image, p.digest(t, image))
	}
	for _, repository := range []string{p.settings.Remote, p.settings.Tap, p.settings.KrewIndex} {
		refs, err := git(t.Context(), repository, "for-each-ref")
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(&all, refs)
	}
	return all.String()
}

// TestPublish publishes a release, with a dry run before it and a failure in it.
func TestPublish(t *testing.T) {
	p := newPlaces(t)
	empty := p.state(t)
	out, err := p.publish(t, func(run *publication) { run.dryRun = true })
	if err != nil || !strings.Contains(out, "dry run: nothing was published") || strings.Count(out, "to publish: ") != 7 {
		t.Fatalf("%v\n%s", err, out)
	}
	if state := p.state(t); state != empty {
		t.Fatalf("a dry run published:\n%s", state)
	}

	p.web.failAt = 4
	out, err = p.publish(t, nil)
	if err == nil || !strings.Contains(err.Error(), "507 Insufficient Storage\nPublished in this run: 0 of 7. Run the command again") {
		t.Fatalf("%v\n%s", err, out)
	}
	if len(p.web.names()) != 3 || p.digest(t, "holdfast:v1.2.3") != "" {
		t.Fatalf("after a failure of the fourth file:\n%s", p.state(t))
	}

	// The tap fails next: a lock that is left in it refuses all pushes.
	lock := filepath.Join(p.settings.Tap, "refs")
	if err := os.Rename(lock, lock+"-away"); err != nil {
		t.Fatal(err)
	}
	write(t, lock, "")
	if out, err = p.publish(t, nil); err == nil || !strings.HasSuffix(err.Error(), "Nothing was published") {
		t.Fatalf("a tap that is broken: %v\n%s", err, out)
	}
	if err := os.Remove(lock); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(lock+"-away", lock); err != nil {
		t.Fatal(err)
	}

	before := p.web.puts
	out, err = p.publish(t, nil)
	if err != nil || !strings.Contains(out, "v1.2.3 is published") {
		t.Fatalf("%v\n%s", err, out)
	}
	if p.web.puts-before != len(p.web.names())-3 {
		t.Errorf("the second run uploaded %d of %d files, and three were there", p.web.puts-before, len(p.web.names()))
	}
	p.checkPublished(t)

	done := p.state(t)
	out, err = p.publish(t, nil)
	if err != nil || strings.Contains(out, "to publish: ") || strings.Count(out, "is there: ") != 7 {
		t.Errorf("a run after everything is published: %v\n%s", err, out)
	}
	if state := p.state(t); state != done {
		t.Errorf("a run after everything is published changed\n%s\nto\n%s", done, state)
	}
	p.checkLeftOut(t)
	p.checkReplacement(t)
}

// checkLeftOut checks that a run without a key, charts, a tap and an index of krew says so.
func (p *places) checkLeftOut(t *testing.T) {
	t.Helper()
	out, err := p.publish(t, func(run *publication) { run.MinisignKey, run.Charts, run.Tap, run.KrewIndex = "", "", "", "" })
	if err != nil || strings.Count(out, "is there: ") != 3 {
		t.Errorf("%v\n%s", err, out)
	}
	for _, want := range []string{"The release is unsigned", "HOLDFAST_CHARTS is empty", "HOLDFAST_TAP is empty", "HOLDFAST_KREW_INDEX is empty"} {
		if !strings.Contains(out, want) {
			t.Errorf("it does not say %q:\n%s", want, out)
		}
	}
}

// checkPublished reads what is published, as users do.
func (p *places) checkPublished(t *testing.T) {
	t.Helper()
	sums := p.web.files["v1.2.3/checksums.txt"]
	if !minisign.Verify(p.public, []byte(sums), []byte(p.web.files["v1.2.3/checksums.txt.minisig"])) {
		t.Error("the signature is not that of the checksums")
	}
	for _, name := range []string{"holdfast_v1.2.3_linux_amd64.tar.gz", "holdfast_v1.2.3_image.oci.tar", "holdfast-guard-1.2.3.tgz"} {
		if !strings.Contains(sums, "  "+name+"\n") || p.web.files["v1.2.3/"+name] == "" {
			t.Errorf("%s is not published", name)
		}
	}
	at, err := name.NewTag(p.registry + "/holdfast:v1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	index, err := remote.Index(at)
	if err != nil {
		t.Fatal(err)
	}
	contents, err := index.IndexManifest()
	if err != nil || len(contents.Manifests) != 2 {
		t.Fatalf("%v, %+v", err, contents)
	}
	for _, each := range contents.Manifests {
		image, err := index.Image(each.Digest)
		if err != nil {
			t.Fatal(err)
		}
		if layers, err := image.Layers(); err != nil || len(layers) != 1 {
			t.Errorf("%v, %d layers", err, len(layers))
		} else if _, err := layers[0].DiffID(); err != nil {
			t.Error(err)
		}
	}
	chartAt, err := name.NewTag(p.registry + "/charts/holdfast-guard:1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := remote.Get(chartAt)
	if err != nil || !strings.Contains(string(manifest.Manifest), string(chartContent)) || !strings.Contains(string(manifest.Manifest), string(chartConfig)) {
		t.Errorf("%v: %s", err, manifest.Manifest)
	}
	head := mustGit(t, p.checkout, "rev-parse", "HEAD")
	if tagged := mustGit(t, p.settings.Remote, "rev-parse", "v1.2.3^{commit}"); tagged != head {
		t.Errorf("the tag is at %s, want %s", tagged, head)
	}
	formula := mustGit(t, p.settings.Tap, "show", "HEAD:Formula/holdfast.rb")
	if !strings.Contains(formula, p.settings.Downloads+"/v1.2.3/holdfast_v1.2.3_darwin_arm64.tar.gz") {
		t.Errorf("the formula:\n%s", formula)
	}
	for _, plugin := range []string{"holdfast", "kudo"} {
		if text := mustGit(t, p.settings.KrewIndex, "show", "HEAD:plugins/"+plugin+".yaml"); !strings.Contains(text, "version: v1.2.3\n") {
			t.Errorf("the manifest:\n%s", text)
		}
	}
}

// checkReplacement checks that nothing is published if one place has something else under the version.
func (p *places) checkReplacement(t *testing.T) {
	t.Helper()
	sums := p.web.files["v1.2.3/checksums.txt"]
	p.web.files["v1.2.3/checksums.txt"] = "other"
	p.refused(t, nil, "has another checksums.txt of this version: a published version is never replaced")
	p.web.files["v1.2.3/checksums.txt"] = sums

	write(t, filepath.Join(p.checkout, "more.txt"), "more")
	p.refused(t, nil, "files are not committed")
	mustGit(t, p.checkout, "add", ".")
	mustGit(t, p.checkout, "commit", "--quiet", "--message", "two")
	p.refused(t, nil, "the tag v1.2.3 of this checkout is at ")
	mustGit(t, p.checkout, "tag", "--delete", "v1.2.3")
	p.refused(t, nil, "tag v1.2.3 in "+p.settings.Remote+": it is at ")
	mustGit(t, p.checkout, "reset", "--quiet", "--hard", "HEAD~1")

	// Another image under the tag: that of one platform only.
	other, err := name.NewTag(p.registry + "/holdfast:v1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	index, err := remote.Index(other)
	if err != nil {
		t.Fatal(err)
	}
	contents, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	single, err := index.Image(contents.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(other, single); err != nil {
		t.Fatal(err)
	}
	p.refused(t, nil, "the registry has sha256:")

	// A tap with a newer version.
	clone := t.TempDir()
	mustGit(t, clone, "clone", "--quiet", p.settings.Tap, ".")
	formula := filepath.Join(clone, "Formula", "holdfast.rb")
	text, err := os.ReadFile(formula)
	if err != nil {
		t.Fatal(err)
	}
	write(t, formula, strings.Replace(string(text), `version "1.2.3"`, `version "1.10.0"`, 1))
	mustGit(t, clone, "commit", "--quiet", "--all", "--message", "newer")
	mustGit(t, clone, "push", "--quiet", "origin", "HEAD")
	p.refused(t, nil, "Formula/holdfast.rb has the newer version 1.10.0")
}

// refused runs the command, which must end with an error, and must publish nothing.
func (p *places) refused(t *testing.T, change func(*publication), want string) {
	t.Helper()
	before := p.state(t)
	out, err := p.publish(t, change)
	if err == nil || !strings.Contains(err.Error(), want) || !strings.HasSuffix(err.Error(), "Nothing was published") {
		t.Errorf("got %v, want %s:\n%s", err, want, out)
	}
	if after := p.state(t); after != before {
		t.Errorf("%s: published\n%s", want, after)
	}
}

// TestChecks checks the errors that come before anything is built.
func TestChecks(t *testing.T) {
	p := newPlaces(t)
	tests := map[string]struct {
		change func(*publication)
		want   string
	}{
		"version":     {func(run *publication) { run.version = "1.2.3" }, `the version "1.2.3" has not the form v0.1.0`},
		"dirty":       {func(run *publication) { run.version = "v1.2.3+dirty" }, "has not the form"},
		"placeholder": {func(run *publication) { run.Image = "holdfast" }, `HOLDFAST_IMAGE is the placeholder "holdfast": write the name`},
		"registry":    {func(run *publication) { run.Image = "owner/holdfast" }, "does not begin with a registry"},
		"charts":      {func(run *publication) { run.Charts = "charts" }, "HOLDFAST_CHARTS: "},
		"uploads":     {func(run *publication) { run.Uploads = "" }, "HOLDFAST_UPLOADS is \"\": write an address"},
		"two keys":    {func(run *publication) { run.CosignKey = "k" }, "a release has one signature"},
		"password":    {func(run *publication) { run.authorization = "Bearer wrong" }, "files at " + p.settings.Uploads + "/v1.2.3: GET checksums.txt: 401 Unauthorized"},
		"no registry": {func(run *publication) { run.Image = "127.0.0.1:1/holdfast" }, "no right to push, or no registry"},
		"no remote":   {func(run *publication) { run.Remote = filepath.Join(p.checkout, "absent") }, "git ls-remote: fatal:"},
		"no tap":      {func(run *publication) { run.Tap = filepath.Join(p.checkout, "absent") }, "git clone: fatal:"},
		"changelog":   {func(run *publication) { run.version = "v1.2.4" }, `CHANGELOG.md has no section "## [1.2.4]"`},
		"no key":      {func(run *publication) { run.MinisignKey = "absent.key" }, "key: stat absent.key"},
		"no cosign": {
			func(run *publication) { run.MinisignKey, run.CosignKey = "", "cosign.key" },
			"cosign is not installed: install it, or leave the key empty to publish an unsigned release",
		},
		"all at once": {func(run *publication) { run.authorization, run.Remote = "", "absent" }, "401 Unauthorized\ntag v1.2.3 in absent: git ls-remote"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if name == "no cosign" {
				t.Setenv("PATH", gitOnly(t))
			}
			p.refused(t, test.change, test.want)
		})
	}
	if p.builds > 0 {
		t.Errorf("the release was built %d times", p.builds)
	}
}

func TestRedacted(t *testing.T) {
	for given, want := range map[string]string{
		"https://user:secret@example.com/a": "https://user:xxxxx@example.com/a",
		"git@example.com:a/b.git":           "git@example.com:a/b.git", "origin": "origin", "/a b": "/a b",
	} {
		if got := redacted(given); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	_, err := git(t.Context(), t.TempDir(), "clone", "https://user:secret@127.0.0.1:1/a.git")
	if err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("got %v", err)
	}
}

// gitOnly returns a folder with git and no other program.
func gitOnly(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, dirOfPath := range filepath.SplitList(os.Getenv("PATH")) {
		if err := os.Symlink(filepath.Join(dirOfPath, "git"), filepath.Join(dir, "git")); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(filepath.Join(dir, "git")); err == nil {
			return dir
		}
		if err := os.Remove(filepath.Join(dir, "git")); err != nil {
			t.Fatal(err)
		}
	}
	t.Fatal("there is no git")
	return ""
}

func mustGit(t *testing.T, dir string, args ...string) string {
	t.Helper()
	out, err := git(t.Context(), dir, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
