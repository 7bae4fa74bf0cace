package lint

import (
	"context"
	"fmt"
	"maps"
	"path"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"holdfast.dev/holdfast/internal/operator/pack"
)

// Migrate returns the files of a package in which removed API versions are replaced by their
// successors, also in the packages bundled with it. It changes the line with the apiVersion
// and nothing else, so a kind of which the successor needs more stays as it is. Comments and
// the formatting stay too. Kinds, called for the result, tells what is left.
func Migrate(ctx context.Context, files pack.Files) (pack.Files, error) {
	p, err := files.Parse()
	if err != nil {
		return nil, err
	}
	migrated := maps.Clone(files)
	for folder, each := range p.All() {
		l := newLinter(each)
		for _, template := range l.rendered() {
			name := path.Join(folder, "templates", template)
			if _, found := files[name]; !found {
				continue // "kudo package verify" reports the missing template
			}
			text := string(migrated[name])
			for _, object := range l.objectsOf(ctx, template) {
				text = replaceVersion(text, object, l.successor(ctx, template, object))
			}
			migrated[name] = []byte(text)
		}
	}
	return migrated, nil
}

// successor returns the API version that replaces the one of an object in a template. It is empty
// if the server still serves the API version, or if one of the objects of this kind in the template
// needs more changes than that.
func (l *linter) successor(ctx context.Context, template string, object *unstructured.Unstructured) string {
	successor := ""
	for _, other := range l.objectsOf(ctx, template) {
		if other.GroupVersionKind() != object.GroupVersionKind() {
			continue
		}
		removed := removedIn(other)
		if removed == nil || removed.successor.Version == "" || removed.advice != "" {
			return ""
		}
		successor = removed.successor.String()
	}
	return successor
}

var separator = regexp.MustCompile(`(?m)^---`)

// replaceVersion replaces the API version of the documents of a kind in the text of a template.
// Both lines must be at the start of a line, as people write them.
func replaceVersion(text string, object *unstructured.Unstructured, successor string) string {
	if successor == "" {
		return text
	}
	kind := regexp.MustCompile(`(?m)^kind:[ \t]*["']?` + regexp.QuoteMeta(object.GetKind()) + `["']?[ \t]*(#.*)?$`)
	version := regexp.MustCompile(`(?m)^(apiVersion:[ \t]*["']?)` + regexp.QuoteMeta(object.GetAPIVersion()) + `(["']?[ \t]*(#.*)?)$`)
	var out strings.Builder
	for _, document := range documents(text) {
		if kind.MatchString(document) {
			document = version.ReplaceAllString(document, fmt.Sprintf("${1}%s${2}", successor))
		}
		out.WriteString(document)
	}
	return out.String()
}

// documents splits a text before each separator of YAML documents.
func documents(text string) []string {
	var all []string
	start := 0
	for _, at := range separator.FindAllStringIndex(text, -1) {
		all = append(all, text[start:at[0]])
		start = at[0]
	}
	return append(all, text[start:])
}
