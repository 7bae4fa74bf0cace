package builtin_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientscheme "k8s.io/client-go/kubernetes/scheme"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
)

// apisOf reads the table "The APIs of Kubernetes" of a document: the resources of each group and
// version that the server has, and those that it does not have.
func apisOf(t *testing.T, path string) (served, absent map[string][]string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	name := regexp.MustCompile("`([^`]+)`")
	names := func(cell string) []string {
		var out []string
		for _, match := range name.FindAllStringSubmatch(cell, -1) {
			out = append(out, match[1])
		}
		return out
	}
	served, absent = map[string][]string{}, map[string][]string{}
	_, table, _ := strings.Cut(string(text), "## The APIs of Kubernetes")
	for line := range strings.Lines(table) {
		cells := strings.Split(line, "|")
		if len(cells) != 5 || !strings.Contains(cells[1], "`") {
			continue
		}
		for _, version := range names(cells[1]) {
			served[version], absent[version] = names(cells[2]), names(cells[3])
		}
	}
	return served, absent
}

// TestTableOfAPIs compares the table of the document with the server, and with the stable kinds
// of the Kubernetes libraries.
func TestTableOfAPIs(t *testing.T) {
	t.Parallel()
	served, absent := apisOf(t, "../../../docs/kinds.md")
	client := servertest.Start(t, apiserver.Config{DataDir: t.TempDir()}).Client(t)
	_, lists, err := client.Discovery().ServerGroupsAndResources()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string][]string{}
	for _, list := range lists {
		for i := range list.APIResources {
			found[list.GroupVersion] = append(found[list.GroupVersion], list.APIResources[i].Name)
		}
	}
	for version, resources := range found {
		if strings.HasPrefix(version, "kudo.dev/") || strings.HasPrefix(version, "guard.holdfast.dev/") || version == "apiextensions.k8s.io/v1beta1" {
			continue // not of Kubernetes 1.37
		}
		for _, resource := range resources {
			if !slices.Contains(served[version], resource) {
				t.Errorf("the table does not have %s of %s", resource, version)
			}
		}
	}
	for version, resources := range served {
		for _, resource := range resources {
			if !slices.Contains(found[version], resource) {
				t.Errorf("the server does not have %s of %s", resource, version)
			}
		}
	}
	stable := regexp.MustCompile(`^v[0-9]+$`)
	for kind, goType := range clientscheme.Scheme.AllKnownTypes() {
		list := kind.GroupVersion().WithKind(kind.Kind + "List")
		isResource := strings.HasPrefix(goType.PkgPath(), "k8s.io/api/") && clientscheme.Scheme.Recognizes(list)
		if !stable.MatchString(kind.Version) || !isResource {
			continue
		}
		resource := resourceOf(kind)
		version := kind.GroupVersion().String()
		if !slices.Contains(served[version], resource) && !slices.Contains(absent[version], resource) {
			t.Errorf("the table says nothing about %s of %s", resource, version)
		}
	}
}

// resourceOf returns the name of a kind in URLs.
func resourceOf(kind schema.GroupVersionKind) string {
	if kind.Kind == "Endpoints" {
		return "endpoints"
	}
	plural, _ := meta.UnsafeGuessKindToResource(kind)
	return plural.Resource
}
