package node_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"holdfast.dev/holdfast/internal/access/node"
	"holdfast.dev/holdfast/internal/access/node/nodetest"
)

func newIndex(t testing.TB) (*node.Index, []*corev1.Pod) {
	t.Helper()
	items := nodetest.Pods(t)
	index := &node.Index{}
	for _, pod := range items {
		index.Set(pod)
	}
	return index, items
}

// parse returns the attributes of a request that is written as
// "verb group:resource/subresource namespace/name fieldSelector". The word - stands
// for an empty part.
func parse(t testing.TB, u user.Info, request string) authorizer.Attributes {
	t.Helper()
	words := append(strings.Fields(request), "-", "-")
	for i := range words {
		if words[i] == "-" {
			words[i] = ""
		}
	}
	record := authorizer.AttributesRecord{User: u, Verb: words[0], ResourceRequest: true}
	group, resource, found := strings.Cut(words[1], ":")
	if !found {
		group, resource = "", words[1]
	}
	record.APIGroup = group
	record.Resource, record.Subresource, _ = strings.Cut(resource, "/")
	record.Namespace, record.Name, _ = strings.Cut(words[2], "/")
	if words[3] != "" {
		selector, err := fields.ParseSelector(words[3])
		if err != nil {
			t.Fatal(err)
		}
		record.FieldSelectorRequirements = selector.Requirements()
	}
	return record
}
