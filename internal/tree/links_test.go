package tree_test

import (
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

func TestLinks(t *testing.T) {
	found, err := brokenLinks(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	for _, broken := range found {
		t.Error(broken)
	}
}

func TestLinkRules(t *testing.T) {
	tree := func(document string) fstest.MapFS {
		return fstest.MapFS{
			"docs/page.md":         {Data: []byte(document)},
			"docs/other.md":        {Data: []byte("# Other\n\n## What `it` costs, in all\n")},
			"cli/serve.go":         {Data: []byte("package cli")},
			"cli/testdata/page.md": {Data: []byte("[gone](gone.md)")},
		}
	}
	tests := map[string]struct {
		document string
		want     []string
	}{
		"a file":                  {document: "see [other](other.md)"},
		"a folder":                {document: "see [cli](../cli)"},
		"a file outside the docs": {document: "see [serve](../cli/serve.go)"},
		"a heading":               {document: "see [costs](other.md#what-it-costs-in-all)"},
		"a heading of the page":   {document: "# One\n\nsee [two](#two-words)\n\n## Two words\n"},
		"another site":            {document: "see [Kubernetes](https://kubernetes.io/docs)"},
		"an example":              {document: "```\n[gone](gone.md)\n```\n"},
		"a file that is not there": {
			document: "line one\nsee [gone](gone.md)",
			want:     []string{"docs/page.md:2: link to gone.md: docs/gone.md does not exist"},
		},
		"a heading that is not there": {
			document: "see [costs](other.md#costs)",
			want:     []string{"docs/page.md:1: link to other.md#costs: docs/other.md has no such heading"},
		},
		"a path that leaves the tree": {
			document: "see [up](../../up.md)",
			want:     []string{"docs/page.md:1: link to ../../up.md: it leads out of the tree"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := brokenLinks(tree(test.document))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("broken links (-want +got):\n%s", diff)
			}
		})
	}
}

// brokenLinks names every relative link in the Markdown files of a tree that
// leads to no file, no folder or no heading, in the order of the files.
func brokenLinks(tree fs.FS) ([]string, error) {
	var found []string
	err := documents(tree, func(file, text string) error {
		for i, line := range prose(text) {
			for _, match := range inlineLink.FindAllStringSubmatch(line, -1) {
				if why := broken(tree, file, match[1]); why != "" {
					found = append(found, fmt.Sprintf("%s:%d: link to %s: %s", file, i+1, match[1], why))
				}
			}
		}
		return nil
	})
	return found, err
}

// documents calls visit with the path and the text of every Markdown file of a tree,
// in the order of the paths.
func documents(tree fs.FS, visit func(file, text string) error) error {
	return fs.WalkDir(tree, ".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := path.Base(file)
		if entry.IsDir() {
			if file != "." && (base == "testdata" || strings.HasPrefix(base, ".")) {
				return fs.SkipDir
			}
			return nil
		}
		if path.Ext(file) != ".md" {
			return nil
		}
		text, err := fs.ReadFile(tree, file)
		if err != nil {
			return err
		}
		return visit(file, string(text))
	})
}

var inlineLink = regexp.MustCompile(`\]\(([^)\s]+)\)`)

// broken says why the target of a link in a file cannot be followed, or "". The
// targets on other sites are not asked for.
func broken(tree fs.FS, file, target string) string {
	parsed, err := url.Parse(target)
	if err != nil {
		return err.Error()
	}
	if parsed.Scheme != "" {
		return ""
	}
	destination := file
	if parsed.Path != "" {
		destination = path.Join(path.Dir(file), parsed.Path)
	}
	if !fs.ValidPath(destination) {
		return "it leads out of the tree"
	}
	if _, err := fs.Stat(tree, destination); err != nil {
		return destination + " does not exist"
	}
	if parsed.Fragment == "" {
		return ""
	}
	text, err := fs.ReadFile(tree, destination)
	if err != nil {
		return err.Error()
	}
	if !slices.Contains(headings(string(text)), parsed.Fragment) {
		return destination + " has no such heading"
	}
	return ""
}

// headings lists the anchors that a Markdown renderer gives to the headings of a
// document: lower case, spaces as hyphens, punctuation left out.
func headings(document string) []string {
	var found []string
	for _, line := range prose(document) {
		if !strings.HasPrefix(line, "#") {
			continue
		}
		title := strings.ToLower(strings.TrimSpace(strings.TrimLeft(line, "#")))
		found = append(found, strings.ReplaceAll(punctuation.ReplaceAllString(title, ""), " ", "-"))
	}
	return found
}

var punctuation = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)

// prose returns the lines of a document with those of code blocks left empty.
func prose(document string) []string {
	lines := strings.Split(document, "\n")
	fenced := false
	for i, line := range lines {
		fence := strings.HasPrefix(strings.TrimSpace(line), "```")
		if fence {
			fenced = !fenced
		}
		if fence || fenced {
			lines[i] = ""
		}
	}
	return lines
}
