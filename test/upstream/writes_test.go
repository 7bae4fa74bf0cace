package upstream_test

import (
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/jsonmergepatch"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// target is a resource to which the test writes.
type target struct {
	kind, apiVersion string
	// path is the path of the collection.
	path string
	// other is the path in another version of the same resource, or empty.
	other, otherVersion string
	schema              *spec.Schema
	base                []manifest
	// strategic is true if the servers know strategic merge patches of the kind.
	strategic, status, scale bool
}

// writesPerObject is the number of writes to an object before the test deletes it.
const writesPerObject = 12

// TestWrites sends the same random writes to our server and to kube-apiserver, and compares the answers: codes, causes, stored
// objects, owners of fields, warnings.
func TestWrites(t *testing.T) {
	long := os.Getenv("HOLDFAST_WRITES")
	if long == "" {
		t.Skip("set HOLDFAST_WRITES to the number of writes to compare with kube-apiserver, or run make compare WHAT=writes")
	}
	writes, err := strconv.Atoi(long)
	if err != nil {
		t.Fatalf("HOLDFAST_WRITES: %v", err)
	}
	ours, theirs := startServers(t)
	models := publishedModels()
	models.keepKnown(theirs)
	kept := readExceptions(t, "testdata/writes.yaml")
	exceptions := append(slices.Clone(kept), readExceptions(t, "testdata/exceptions.yaml")...)
	for name, targets := range map[string][]target{
		"custom":  createDefinitions(t, models, ours, theirs),
		"builtin": builtinTargets(t, models, ours, theirs),
	} {
		t.Run(name, func(t *testing.T) {
			c := &writing{comparison: newComparison(t, models, exceptions), sides: [2]*server{ours, theirs}}
			chosen := slices.DeleteFunc(targets, func(to target) bool { return !isChosen(to.kind) })
			for i := 0; c.sent < writes && len(chosen) > 0; i++ {
				c.compareObject(chosen[i%len(chosen)], i)
			}
			c.report()
		})
	}
	reportUnmet(t, kept, writes >= longWrites)
}

// longWrites is the number of writes that meets every exception of writes.yaml.
const longWrites = 10_000

// writing compares the writes of two servers.
type writing struct {
	*comparison
	sides [2]*server
	sent  int
}

// compareObject creates an object, changes it and deletes it. It ends at the first difference: the objects differ from then on.
func (w *writing) compareObject(to target, round int) {
	hash := fnv.New64()
	_, _ = hash.Write([]byte(to.apiVersion + to.kind))
	g := &generator{Rand: rand.New(rand.NewPCG(uint64(round), hash.Sum64())), models: w.models}
	name := fmt.Sprintf("web-%d", round)
	object := clone(pick(g.Rand, to.base))
	if g.IntN(3) > 0 {
		object = g.mutate(object, to.schema, 1+g.IntN(2), func(string) bool { return true })
	}
	setName(object, name)
	object["apiVersion"], object["kind"] = to.apiVersion, to.kind
	defer w.remove(to.path + "/" + name)
	create := call{method: http.MethodPost, path: to.path, query: query(g), body: object}
	if g.IntN(3) == 0 {
		create = call{
			method: http.MethodPatch, path: to.path + "/" + name, media: applyPatch, body: applied(object, to.apiVersion),
			query: query(g) + "&force=true",
		}
	}
	stored := w.compareCalls(to, "create", [2]call{create, create}, [2]manifest{})
	for range writesPerObject {
		if stored[0] == nil {
			return
		}
		stage, calls := w.next(g, to, stored)
		stored = w.compareCalls(to, stage, calls, stored)
	}
	if stored[0] != nil && to.kind != "Namespace" {
		w.compareCalls(to, "delete", [2]call{{method: http.MethodDelete, path: to.path + "/" + name}, {method: http.MethodDelete, path: to.path + "/" + name}}, stored)
	}
}

const (
	applyPatch     = "application/apply-patch+yaml"
	mergePatch     = "application/merge-patch+json"
	strategicPatch = "application/strategic-merge-patch+json"
	jsonPatch      = "application/json-patch+json"
)

func query(g *generator) string {
	validation := pick(g.Rand, []string{"Warn", "Strict", "Ignore"})
	return fmt.Sprintf("?fieldManager=%s&fieldValidation=%s", pick(g.Rand, []string{"alice", "bob"}), validation)
}

// next returns a random write of the stored objects, for both servers.
func (w *writing) next(g *generator, to target, stored [2]manifest) (stage string, calls [2]call) {
	name := stored[0]["metadata"].(map[string]any)["name"].(string)
	stage = "update"
	isPart := func(field string) bool { return field != "status" }
	path, version := to.path+"/"+name, to.apiVersion
	if to.other != "" && g.IntN(3) == 0 {
		path, version = to.other+"/"+name, to.otherVersion
	}
	switch {
	case to.status && g.IntN(4) == 0:
		stage, path = "status", path+"/status"
		isPart = func(field string) bool { return field == "status" }
	case to.scale && g.IntN(8) == 0:
		patch := call{
			method: http.MethodPatch, path: path + "/scale", query: query(g), media: mergePatch,
			body: manifest{"spec": manifest{"replicas": pick(g.Rand, numbers)}},
		}
		return "scale", [2]call{patch, patch}
	case to.kind == "Pod" && g.IntN(8) == 0:
		stage, object := podCreation(g, name)
		create := call{method: http.MethodPost, path: path + "/" + stage, query: query(g), body: object}
		return stage, [2]call{create, create}
	}
	if g.IntN(5) == 0 {
		isPart = func(string) bool { return true }
	}
	// Without what the server sets, such as UIDs and times, every run sends the same writes.
	before := withoutServerSet(stored[0])
	before["apiVersion"] = version
	after := g.mutate(before, to.schema, g.IntN(3), isPart)
	setName(after, name)
	change := call{method: http.MethodPatch, path: path, query: query(g), media: mergePatch}
	merge := mergeChange(before, after)
	change.body = merge
	switch kind := g.IntN(6); kind {
	case 0:
		if to.strategic {
			change.media = strategicPatch
		}
	case 1:
		change.media, change.body = jsonPatch, jsonChange("", before, merge)
	case 2, 3, 4:
		// Each server gets its own object back, which has its own UIDs and addresses.
		force := pick(g.Rand, []string{"", "&force=true"})
		for i, current := range stored {
			next := mergeInto(clone(current), merge)
			next["apiVersion"] = version
			calls[i] = call{method: http.MethodPut, path: path, query: change.query, body: next}
			if kind == 2 {
				calls[i] = call{method: http.MethodPatch, path: path, query: change.query + force, media: applyPatch, body: applied(next, version)}
			}
		}
		return stage, calls
	}
	return stage, [2]call{change, change}
}

// podCreation returns a Binding or an Eviction of a pod, and its subresource.
func podCreation(g *generator, pod string) (subresource string, object manifest) {
	if g.IntN(2) == 0 {
		return "eviction", manifest{
			"apiVersion": "policy/v1", "kind": "Eviction", "metadata": manifest{"name": pod},
			"deleteOptions": manifest{"gracePeriodSeconds": pick(g.Rand, []int64{0, 5, -1})},
		}
	}
	metadata := manifest{"name": pod}
	if g.IntN(2) == 0 {
		metadata["annotations"] = manifest{g.key(): g.text()}
	}
	return "binding", manifest{
		"apiVersion": "v1", "kind": "Binding", "metadata": metadata,
		"target": manifest{"kind": pick(g.Rand, []string{"Node", "Node", "", "Pod"}), "name": pick(g.Rand, []string{"node-1", "node-2", "", "a/b"})},
	}
}

// compareCalls sends one call to each server. It returns the stored objects, or nil if these differ or do not exist.
func (w *writing) compareCalls(to target, stage string, calls [2]call, old [2]manifest) [2]manifest {
	w.sent++
	var replies [2]reply
	for i, side := range w.sides {
		replies[i] = side.send(calls[i])
	}
	sample := request{APIVersion: to.apiVersion, Kind: to.kind, Stage: stage, Object: []byte(strconv.Quote(calls[0].String()))}
	sample.Old = content(old[0])
	differences := compareReplies(replies, old)
	isGone := stage == "delete"
	if slices.Contains([]string{"scale", "binding", "eviction"}, stage) && replies[0].accepted() && replies[1].accepted() {
		// The reply is not the object. What the write did to the object shows when it is read.
		for i, side := range w.sides {
			replies[i] = side.send(call{method: http.MethodGet, path: strings.TrimSuffix(calls[i].path, "/"+stage)})
		}
		differences = append(differences, compareReplies(replies, old)...)
		isGone = !replies[0].accepted()
	}
	w.judge(to.kind, sample, differences)
	sameObject := !slices.ContainsFunc(differences, func(d difference) bool {
		return !slices.Contains([]string{"warning", "detail", "resourceVersion"}, d.Aspect)
	})
	switch {
	case !sameObject || isGone:
		return [2]manifest{}
	case !replies[0].accepted():
		return old
	}
	return [2]manifest{replies[0].body, replies[1].body}
}

// remove deletes an object from both servers, also one with finalizers.
func (w *writing) remove(path string) {
	for _, side := range w.sides {
		side.send(call{method: http.MethodDelete, path: path, query: "?gracePeriodSeconds=0"})
		side.send(call{method: http.MethodPatch, path: path, media: mergePatch, body: manifest{"metadata": manifest{"finalizers": nil}}})
	}
}

func setName(object manifest, name string) {
	meta, ok := object["metadata"].(map[string]any)
	if !ok {
		meta = manifest{}
		object["metadata"] = meta
	}
	meta["name"] = name
}

// applied returns the configuration that a client applies: an object without what only the server writes.
func applied(object manifest, apiVersion string) manifest {
	object = clone(object)
	object["apiVersion"] = apiVersion
	meta := object["metadata"].(map[string]any)
	maps.DeleteFunc(meta, func(field string, _ any) bool {
		return !slices.Contains([]string{"name", "labels", "annotations", "finalizers"}, field)
	})
	return object
}

// mergeChange returns the merge patch between two objects.
func mergeChange(before, after manifest) manifest {
	patch, err := jsonmergepatch.CreateThreeWayJSONMergePatch(encode(before), encode(after), encode(before))
	if err != nil {
		panic(err)
	}
	return decode(patch).(manifest)
}

// jsonChange returns the JSON patch that makes the same changes as a merge patch, below a path.
func jsonChange(path string, before, merge manifest) []any {
	operations := []any{}
	for _, key := range slices.Sorted(maps.Keys(merge)) {
		at := path + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
		old, isObject := before[key].(map[string]any)
		changes, isMerge := merge[key].(map[string]any)
		switch {
		case merge[key] == nil:
			operations = append(operations, manifest{"op": "remove", "path": at})
		case isObject && isMerge:
			operations = append(operations, jsonChange(at, old, changes)...)
		default:
			operations = append(operations, manifest{"op": "add", "path": at, "value": merge[key]})
		}
	}
	return operations
}

// mergeInto returns an object with a merge patch.
func mergeInto(object, merge manifest) manifest {
	for key, value := range merge {
		inner, isObject := value.(map[string]any)
		current, hasObject := object[key].(map[string]any)
		switch {
		case value == nil:
			delete(object, key)
		case isObject && hasObject:
			object[key] = mergeInto(current, inner)
		default:
			object[key] = value
		}
	}
	return object
}
