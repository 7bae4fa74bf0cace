package guard

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"holdfast.dev/holdfast/bench/side"
)

// ruledWrite is a write or deletion of an object with rules.
type ruledWrite struct {
	method, path, contentType, as string
	body                          any
	// replaces means that body is the object without the resourceVersion, which each cluster has its own of.
	replaces bool
}

func (w ruledWrite) String() string {
	body, _ := json.Marshal(w.body)
	return fmt.Sprintf("%s %s %s %s as %q", w.method, w.path, w.contentType, body, w.as)
}

// name returns the kind of an outcome, for the counts.
func (w ruledWrite) name(o outcome) string {
	what := "written"
	if w.method == http.MethodDelete {
		what = "deleted"
	}
	if o.accepted {
		return what
	}
	return fmt.Sprintf("not %s: %d", what, o.code)
}

// send makes a write on a cluster, and returns what is stored afterwards, empty if nothing is.
func (w ruledWrite) send(ctx context.Context, of kindOfRules, c *cluster) (outcome, string, error) {
	body := w.body
	if w.replaces {
		current, err := read(ctx, c, of.path+"/random")
		if err != nil {
			return outcome{}, "", err
		}
		replaced := maps.Clone(w.body.(object))
		metadata := maps.Clone(replaced["metadata"].(object))
		metadata["resourceVersion"] = resourceVersion(current)
		replaced["metadata"], body = metadata, replaced
	}
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return outcome{}, "", err
		}
	}
	answer, err := c.client.Do(ctx, side.Request{Method: w.method, Path: w.path, ContentType: w.contentType, Body: text, As: w.as})
	o, err := outcomeOf(answer, err)
	if err != nil {
		return o, "", err
	}
	if o.accepted {
		o.text = "" // what is stored is compared
	}
	found, err := read(ctx, c, of.path+"/random")
	var missing *side.StatusError
	switch {
	case errors.As(err, &missing) && missing.Code == http.StatusNotFound:
		return o, "", nil
	case err != nil:
		return o, "", err
	}
	metadata, _ := found["metadata"].(object)
	stored, err := json.Marshal([]any{found["spec"], found["status"], found["data"], found["immutable"], metadata["labels"], metadata["annotations"]})
	return o, string(stored), err
}

// createRuled creates an object with random values.
func (t *trial) createRuled(ctx context.Context, of kindOfRules, clusters ...*cluster) error {
	fields := object{}
	for _, name := range slices.Sorted(maps.Keys(of.values)) {
		if t.random.IntN(3) > 0 {
			fields[name] = of.values[name][t.random.IntN(len(of.values[name]))]
		}
	}
	obj := object{
		"apiVersion": of.apiVersion, "kind": of.kind, of.field: fields,
		"metadata": object{"name": "random", "labels": t.ruledLabels(), "annotations": object{"a": "1"}},
	}
	text, err := json.Marshal(obj)
	if err != nil {
		return err
	}
	for _, c := range clusters {
		if _, err := c.client.Do(ctx, side.Request{Method: http.MethodPost, Path: of.path, Body: text}); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
	}
	return nil
}

// removeRuled deletes an object as an administrator, who has all verbs, after everything that keeps it is removed.
func removeRuled(ctx context.Context, of kindOfRules, clusters ...*cluster) error {
	open, err := json.Marshal(object{"metadata": object{"annotations": object{"holdfast.dev/keep": nil}}, of.field: object{"size": "M"}})
	if err != nil {
		return err
	}
	for _, c := range clusters {
		for _, r := range []side.Request{
			{Method: http.MethodPatch, Path: of.path + "/random", ContentType: mergePatch, Body: open},
			{Method: http.MethodDelete, Path: of.path + "/random"},
		} {
			if _, err := c.client.Do(ctx, r); err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
		}
	}
	return nil
}

// ruledLabels returns the label that policies select by, and that of a rule.
func (t *trial) ruledLabels() object {
	out := object{"team": []any{"red", "blue"}[t.random.IntN(2)]}
	if t.random.IntN(4) > 0 {
		out["tier"] = "gold"
	}
	return out
}

// nextRuled returns a random write or deletion.
func (t *trial) nextRuled(ctx context.Context, of kindOfRules, ours *cluster) (ruledWrite, error) {
	pick := func(from []any) any { return from[t.random.IntN(len(from))] }
	w := ruledWrite{
		method: http.MethodPatch, path: of.path + "/random", contentType: mergePatch, as: slices.Sorted(maps.Keys(ruleUsers))[t.random.IntN(len(ruleUsers))],
	}
	names := slices.Sorted(maps.Keys(of.values))
	change := object{}
	for range 1 + t.random.IntN(2) {
		name := names[t.random.IntN(len(names))]
		change[name] = pick(of.values[name])
		if t.random.IntN(4) == 0 {
			change[name] = nil
		}
	}
	switch t.random.IntN(16) {
	default:
		w.body = object{of.field: change}
	case 0, 1, 2:
		current, err := read(ctx, ours, of.path+"/random")
		if err != nil {
			return w, err
		}
		fields, _ := current[of.field].(object)
		fields = maps.Clone(fields)
		if fields == nil {
			fields = object{}
		}
		for name, v := range change {
			fields[name] = v
			if v == nil {
				delete(fields, name)
			}
		}
		metadata, _ := current["metadata"].(object)
		w.method, w.contentType, w.replaces = http.MethodPut, "", true
		w.body = object{
			"apiVersion": of.apiVersion, "kind": of.kind, of.field: fields,
			"metadata": object{"name": "random", "labels": metadata["labels"], "annotations": metadata["annotations"]},
		}
	case 3:
		w.body = object{"metadata": object{"labels": object{pick([]any{"team", "tier", "other"}).(string): pick([]any{"red", "blue", "gold", nil})}}}
	case 4:
		w.body = object{"metadata": object{"annotations": object{pick([]any{"a", "b", "holdfast.dev/note"}).(string): pick([]any{"1", "2", nil})}}}
	case 5:
		w.body = object{"metadata": object{"annotations": object{"holdfast.dev/keep": pick([]any{"always", "always", "never", nil, nil})}}}
	case 6:
		w.path, w.as = w.path+"/status", ""
		w.body = object{"status": object{"phase": pick([]any{"New", "Ready", nil})}}
		if of.field == "data" {
			w.path, w.body = of.path+"/random", object{"data": object{"state": pick([]any{"used", "free"})}}
		}
	case 7:
		w.body = object{of.field: change, "metadata": object{"labels": object{"tier": pick([]any{"gold", nil})}}}
	case 8, 9, 10:
		w.method, w.body, w.contentType = http.MethodDelete, nil, ""
		w.path += pick([]any{"", "", "?dryRun=All"}).(string)
	case 11:
		w.method, w.body, w.contentType = http.MethodDelete, nil, ""
		w.path = pick([]any{"/api/v1/namespaces/" + ruled, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/crates.example.com"}).(string) + "?dryRun=All"
	}
	return w, nil
}
