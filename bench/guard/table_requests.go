package guard

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"strings"

	"holdfast.dev/holdfast/bench/side"
)

// tableRequest is a request below the path of a collection.
type tableRequest struct {
	method, contentType, version, path, query string
	body                                      any
}

// way is a way to write an object.
type way struct {
	name, method, contentType     string
	version, subresource, manager string
}

// ways returns the ways to write an object of a kind.
func (k *tableKind) ways() []way {
	const put, patch, strategicPatch = http.MethodPut, http.MethodPatch, "application/strategic-merge-patch+json"
	all := []way{
		{name: "PUT", method: put},
		{name: "merge patch", method: patch, contentType: mergePatch},
		{name: "JSON patch", method: patch, contentType: jsonPatch},
		{name: "apply", method: patch, contentType: applyPatch, manager: tableNamespace},
		{name: "apply by another manager", method: patch, contentType: applyPatch, manager: "other"},
	}
	if k.strategic {
		all = append(all, way{name: "strategic merge patch", method: patch, contentType: strategicPatch})
	}
	for _, v := range k.versions {
		all = append(all, way{name: "PUT of " + v, method: put, version: v}, way{name: "merge patch of " + v, method: patch, contentType: mergePatch, version: v})
	}
	for _, s := range k.subresources {
		all = append(all, way{name: "PUT of /" + s, method: put, subresource: s}, way{name: "merge patch of /" + s, method: patch, contentType: mergePatch, subresource: s})
	}
	return all
}

// fieldChange is a step of the field with a path.
type fieldChange struct {
	path []string
	step
}

// request returns the request that changes fields of an object. Applied is the configuration that created it.
func (w way) request(applied, stored object, changes []fieldChange) tableRequest {
	name := nameOf(stored)
	r := tableRequest{method: w.method, contentType: w.contentType, version: w.version, path: "/" + name}
	if w.subresource != "" {
		r.path += "/" + w.subresource
	}
	switch {
	case w.subresource == "scale" && w.method == http.MethodPut:
		scale := object{"apiVersion": "autoscaling/v1", "kind": "Scale", "spec": object{}, "metadata": object{
			"name": name, "namespace": tableNamespace, "resourceVersion": resourceVersion(stored),
		}}
		set(scale, changes[0].path, changes[0].is)
		r.body = scale
	case w.contentType == "application/json-patch+json":
		operations := []any{}
		for _, c := range changes {
			at := "/" + strings.Join(c.path, "/")
			switch {
			case c.is != nil:
				operations = append(operations, object{"op": "add", "path": at, "value": c.is})
			case c.was != nil:
				operations = append(operations, object{"op": "remove", "path": at})
			}
		}
		r.body = operations
	case w.manager != "":
		r.query = "?force=true&fieldManager=" + w.manager
		r.body = changed(applied, changes)
	case w.method == http.MethodPut:
		r.body = changed(stored, changes)
	default:
		patch := object{}
		for _, c := range changes {
			at, name := parent(patch, c.path)
			at[name] = mergeOf(c.step)
		}
		r.body = patch
	}
	if body, isObject := r.body.(object); isObject && w.version != "" && w.method == http.MethodPut {
		body["apiVersion"] = "example.com/" + w.version
	}
	if body, isObject := r.body.(object); isObject && w.subresource == "status" {
		set(body, []string{"status", "other"}, "b")
	}
	return r
}

// mergeOf returns the merge patch of a value: removed keys are null.
func mergeOf(s step) any {
	was, isMap := s.was.(object)
	is, stays := s.is.(object)
	if !isMap || !stays {
		return s.is
	}
	patch := maps.Clone(is)
	for key := range was {
		if _, ok := is[key]; !ok {
			patch[key] = nil
		}
	}
	return patch
}

func (r tableRequest) asDryRun() tableRequest {
	separator := "?"
	if r.query != "" {
		separator = "&"
	}
	r.query += separator + "dryRun=All"
	return r
}

// send makes the request as a user.
func (r tableRequest) send(ctx context.Context, on *cluster, rule *tableRules, as string) ([]byte, error) {
	path := rule.path()
	if r.version != "" {
		path = strings.Replace(path, "/v1/", "/"+r.version+"/", 1)
	}
	request := side.Request{Method: r.method, Path: path + r.path + r.query, ContentType: r.contentType, As: as}
	if r.body != nil {
		var err error
		if request.Body, err = json.Marshal(r.body); err != nil {
			return nil, err
		}
	}
	return on.client.Do(ctx, request)
}

// changed returns a copy of an object with changed fields.
func changed(obj object, changes []fieldChange) object {
	copied, err := decode([]byte(text(obj)))
	if err != nil {
		return obj
	}
	for _, c := range changes {
		set(copied, c.path, c.is)
	}
	return copied
}

// set sets the value of a field, or removes it if the value is nil.
func set(obj object, path []string, value any) {
	at, name := parent(obj, path)
	if at[name] = value; value == nil {
		delete(at, name)
	}
}

// parent returns the object that has the field with a path, which it creates, and the name of the field in it.
func parent(obj object, path []string) (object, string) {
	last := len(path) - 1
	for _, name := range path[:last] {
		next, ok := obj[name].(object)
		if !ok {
			next = object{}
			obj[name] = next
		}
		obj = next
	}
	return obj, path[last]
}
