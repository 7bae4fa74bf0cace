package console

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"net/http"
	"path"
	"strings"
	"time"
)

// Path is the path of the console, the page that --console turns on. Its files are below it.
const Path = "/console/"

// index is the file at Path itself.
const index = "index.html"

//go:embed files
var files embed.FS

// contentTypes has the media type of each kind of file. The table of the host is not used: it
// may lack JavaScript.
var contentTypes = map[string]string{
	".html": "text/html; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".svg":  "image/svg+xml",
}

// pagePolicy is the Content-Security-Policy of the page. Scripts, styles and requests have the origin
// of the page. With Trusted Types, a browser refuses to make HTML from a string.
const pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// Paths returns the paths of the page and its files. They contain no data, so the server sends
// them without a credential.
func Paths() []string {
	paths := []string{strings.TrimSuffix(Path, "/"), Path}
	for _, name := range names() {
		paths = append(paths, Path+name)
	}
	return paths
}

// Files returns the handler of the page and its files.
func Files() http.Handler {
	content, tags := map[string][]byte{}, map[string]string{}
	for _, name := range names() {
		// Reading an embedded file whose name comes from the list of files cannot fail.
		content[name], _ = files.ReadFile(path.Join("files", name))
		sum := sha256.Sum256(content[name])
		tags[name] = `"` + hex.EncodeToString(sum[:16]) + `"`
	}
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		setSecurityHeaders(w.Header(), pagePolicy)
		if req.Method != http.MethodGet && req.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "the console only reads", http.StatusMethodNotAllowed)
			return
		}
		name := strings.TrimPrefix(req.URL.Path, Path)
		if name == "" {
			name = index
		}
		body, known := content[name]
		if !known {
			http.NotFound(w, req)
			return
		}
		// The library ends an HTTP/2 connection after each anonymous request. A browser loads the
		// files at the same time, and those that are under way would fail.
		w.Header().Del("Connection")
		w.Header().Set("Content-Type", contentTypes[path.Ext(name)])
		w.Header().Set("Cache-Control", "no-cache")
		w.Header().Set("ETag", tags[name])
		http.ServeContent(w, req, name, time.Time{}, bytes.NewReader(body))
	})
}

// Redirect returns the handler of Path without its last slash.
func Redirect() http.Handler {
	return http.RedirectHandler(Path, http.StatusMovedPermanently)
}

// names returns the names of the files.
func names() []string {
	// The directory is embedded, so reading it cannot fail.
	entries, _ := files.ReadDir("files")
	found := make([]string, 0, len(entries))
	for _, entry := range entries {
		found = append(found, entry.Name())
	}
	return found
}

// setSecurityHeaders sets the headers that limit what a browser does with a response.
func setSecurityHeaders(header http.Header, policy string) {
	for name, value := range map[string]string{
		"Content-Security-Policy":      policy,
		"X-Content-Type-Options":       "nosniff",
		"X-Frame-Options":              "DENY",
		"Referrer-Policy":              "no-referrer",
		"Cross-Origin-Opener-Policy":   "same-origin",
		"Cross-Origin-Resource-Policy": "same-origin",
	} {
		header.Set(name, value)
	}
}
