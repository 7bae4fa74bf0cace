package collection_test

import (
	"fmt"
	"maps"
	"strconv"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"holdfast.dev/holdfast/internal/series"
)

// version is a stored version of an object.
type version struct {
	revision int
	deleted  bool
	// names are all strings in the object.
	names map[string]bool
	meta  metav1.Object
}

// history has all versions of all objects, by resource and name. It is safe for concurrent use.
type history struct {
	mu       sync.Mutex
	versions map[string][]version
}

// observe watches all objects of the model, until the test ends.
func observe(t *testing.T, c cluster) *history {
	t.Helper()
	h := &history{versions: map[string][]version{}}
	for _, resource := range []schema.GroupVersionResource{configMaps, secrets, pods, deployments, replicaSets, boats, ships} {
		events, err := c.Dynamic.Resource(resource).Namespace(c.Namespace).Watch(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(events.Stop)
		go func() {
			for event := range events.ResultChan() {
				if object, ok := event.Object.(*unstructured.Unstructured); ok && event.Type != watch.Bookmark {
					h.add(resource.Resource, object, event.Type == watch.Deleted)
				}
			}
		}()
	}
	return h
}

func (h *history) add(resource string, object *unstructured.Unstructured, deleted bool) {
	revision, _ := strconv.Atoi(object.GetResourceVersion())
	names := map[string]bool{}
	spec, _ := object.Object["spec"]
	collectStrings(spec, names)
	h.mu.Lock()
	defer h.mu.Unlock()
	key := resource + "/" + object.GetName()
	h.versions[key] = append(h.versions[key], version{revision, deleted, names, object})
}

func collectStrings(value any, found map[string]bool) {
	switch value := value.(type) {
	case string:
		found[value] = true
	case []any:
		for _, item := range value {
			collectStrings(item, found)
		}
	case map[string]any:
		for _, item := range value {
			collectStrings(item, found)
		}
	}
}

// split returns the kind of a key, and the name.
func split(key string) (resource, name string) {
	resource, name, _ = strings.Cut(key, "/")
	return resource, name
}

func isTarget(resource string) bool { return resource == "configmaps" || resource == "secrets" }

// check returns how many ConfigMaps and Secrets were deleted, and those that an object had the name of at that revision.
func (h *history) check() (deleted int, wrong []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for target, versions := range h.versions {
		resource, name := split(target)
		if !isTarget(resource) {
			continue
		}
		for _, v := range versions {
			if !v.deleted {
				continue
			}
			deleted++
			for referrer, others := range h.versions {
				if of, _ := split(referrer); isTarget(of) {
					continue
				}
				if at := atRevision(others, v.revision); at != nil && at.names[name] {
					wrong = append(wrong, fmt.Sprintf("%s was deleted at revision %d, and %s of revision %d referred to it", target, v.revision, referrer, at.revision))
				}
			}
		}
	}
	return deleted, wrong
}

// atRevision returns the version that was stored at a revision, nil if there was none.
func atRevision(versions []version, revision int) *version {
	var found *version
	for i := range versions {
		if versions[i].revision <= revision {
			found = &versions[i]
		}
	}
	if found == nil || found.deleted {
		return nil
	}
	return found
}

// unused returns the ConfigMaps and Secrets that exist, that no object has the name of, and that are not the newest of their series.
func (h *history) unused() map[string]bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	used, newest := map[string]bool{}, map[string]series.Member{}
	for key, versions := range h.versions {
		resource, _ := split(key)
		last := versions[len(versions)-1]
		switch {
		case last.deleted:
		case !isTarget(resource):
			maps.Copy(used, last.names)
		case last.meta.GetLabels()[series.Label] != "":
			of := last.meta.GetLabels()[series.Label]
			found := series.Member{Name: last.meta.GetName(), Created: last.meta.GetCreationTimestamp().Time}
			if other, ok := newest[resource+of]; !ok || series.Compare(of, found, other) < 0 {
				newest[resource+of] = found
			}
		}
	}
	left := map[string]bool{}
	for key, versions := range h.versions {
		resource, name := split(key)
		last := versions[len(versions)-1]
		of := last.meta.GetLabels()[series.Label]
		if isTarget(resource) && !last.deleted && of != "" && !used[name] && newest[resource+of].Name != name {
			left[key] = true
		}
	}
	return left
}
