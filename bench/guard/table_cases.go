package guard

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"holdfast.dev/holdfast/bench/side"
)

// tableCase is one write or deletion of an object. Cases in a row with the same object are dry runs, except the last.
type tableCase struct {
	row  *tableRow
	rule *tableRules
	what string
	// before is the object before the write, without status.
	before object
	// request returns the write of an object that was created by applying before.
	request func(before, stored object) tableRequest
	// deletes means that the object is deleted, and dryRun that the write is a dry run.
	deletes, dryRun bool
}

func (c tableCase) String() string {
	text := fmt.Sprintf("%s: %s: %s", strings.Join(c.row.rules, ", "), c.rule.kindName(), c.what)
	if c.row.phase != "" {
		text += ", phase " + c.row.phase
	}
	if c.row.holder {
		text += ", by a user with the right"
	}
	return text
}

const applyPatch = "application/apply-patch+yaml"

// changes returns the writes of the fields of a row: every step in every way. The last step changes another label only.
func (t *trial) changes(row *tableRow, rule *tableRules) []tableCase {
	var all []tableCase
	for _, f := range row.fields {
		a, ways := f.steps[0].is, row.kind.ways()
		for i, s := range append(slices.Clone(f.steps), step{a, a}) {
			before := rule.object(row, t.nextName())
			set(before, f.path, s.was)
			for j := range ways {
				w := ways[(i*(len(ways)-1)+j)%len(ways)] // the last is another one for each step
				c := tableCase{row: row, rule: rule, before: before, dryRun: j < len(ways)-1}
				change := []fieldChange{{f.path, s}}
				from, to := text(s.was), text(s.is)
				if i == len(f.steps) {
					change = append(change, fieldChange{[]string{"metadata", "labels", "other"}, step{nil, "a"}})
					to = "the same, with another label"
				}
				c.what = fmt.Sprintf("%s of %s from %s to %s", w.name, f, from, to)
				c.request = func(before, stored object) tableRequest { return w.request(before, stored, change) }
				all = append(all, c)
			}
		}
	}
	return all
}

// deletions returns the ways to delete an object of a row.
func (t *trial) deletions(row *tableRow, rule *tableRules) []tableCase {
	var all []tableCase
	add := func(what string, request func(name string, stored object) tableRequest) object {
		c := tableCase{row: row, rule: rule, what: what, deletes: true, before: rule.object(row, t.nextName())}
		c.request = func(_, stored object) tableRequest { return request(nameOf(stored), stored) }
		all = append(all, c)
		return c.before
	}
	one := func(query string, options object) func(string, object) tableRequest {
		return func(name string, stored object) tableRequest {
			r := tableRequest{method: http.MethodDelete, path: "/" + name, query: query}
			if options != nil {
				metadata := stored["metadata"].(object)
				conditions := object{}
				for key, v := range options {
					if conditions[key] = metadata[key]; v != nil {
						conditions[key] = v
					}
				}
				r.body = object{"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": conditions}
			}
			return r
		}
	}
	add("DELETE", one("", nil))
	for _, query := range []string{"propagationPolicy=Foreground", "propagationPolicy=Background", "propagationPolicy=Orphan", "gracePeriodSeconds=0", "dryRun=All"} {
		add("DELETE ?"+query, one("?"+query, nil))
	}
	add("DELETE with its uid", one("", object{"uid": nil}))
	add("DELETE with its resourceVersion", one("", object{"resourceVersion": nil}))
	add("DELETE with another uid", one("", object{"uid": "other"}))
	set(add("DELETE with a finalizer", one("", nil)), []string{"metadata", "finalizers"}, []any{"example.com/finalizer"})
	for _, query := range []string{"", "&dryRun=All"} {
		add("deletecollection "+query, func(name string, _ object) tableRequest {
			return tableRequest{method: http.MethodDelete, query: "?fieldSelector=metadata.name=" + name + query}
		})
	}
	for _, v := range row.kind.versions {
		add("DELETE of "+v, func(name string, _ object) tableRequest {
			return tableRequest{method: http.MethodDelete, version: v, path: "/" + name}
		})
	}
	if row.kind == podKind {
		for _, query := range []string{"", "?dryRun=All"} {
			add("eviction "+query, func(name string, _ object) tableRequest {
				body := object{"apiVersion": "policy/v1", "kind": "Eviction", "metadata": object{"name": name}}
				return tableRequest{method: http.MethodPost, path: "/" + name + "/eviction", query: query, body: body}
			})
		}
	}
	return all
}

// create creates the object of a case, and returns it as it is stored.
func (c tableCase) create(ctx context.Context, on *cluster) (object, error) {
	name := nameOf(c.before)
	requests := []tableRequest{{
		method: http.MethodPatch, contentType: applyPatch, path: "/" + name, query: "?force=true&fieldManager=" + tableNamespace, body: c.before,
	}}
	if c.row.kind.kind == "" && c.row.phase != "" {
		status := object{"status": object{"phase": c.row.phase}}
		requests = append(requests, tableRequest{method: http.MethodPatch, contentType: mergePatch, path: "/" + name + "/status", body: status})
	}
	var stored object
	for _, r := range requests {
		answer, err := r.send(ctx, on, c.rule, "")
		if err != nil {
			return nil, fmt.Errorf("%s: %w", on.name, err)
		}
		if stored, err = decode(answer); err != nil {
			return nil, err
		}
	}
	return stored, nil
}

// run makes the write of a stored object on a cluster. The text of an accepted write is the object that is stored afterwards, or that a
// dry run answers.
func (c tableCase) run(ctx context.Context, on *cluster, stored object) (outcome, error) {
	r := c.request(c.before, stored)
	if c.dryRun {
		r = r.asDryRun()
	}
	answer, err := r.send(ctx, on, c.rule, c.row.user())
	o, err := outcomeOf(answer, err)
	if err != nil {
		return o, fmt.Errorf("%s: %w", on.name, err)
	}
	if uid, _ := stored["metadata"].(object)["uid"].(string); uid != "" {
		o.text = strings.ReplaceAll(o.text, uid, "UID")
	}
	if c.dryRun {
		if o.accepted {
			found, err := decode(answer)
			o.text = c.stored(found)
			return o, err
		}
		return o, nil
	}
	found, err := read(ctx, on, c.rule.path()+"/"+nameOf(stored))
	var missing *side.StatusError
	if err != nil && !(errors.As(err, &missing) && missing.Code == http.StatusNotFound) {
		return o, err
	}
	after := c.stored(found)
	if o.accepted {
		o.text = after
		return o, nil
	}
	if before := c.stored(stored); before != after {
		return o, fmt.Errorf("%s: %s: refused, and stored: before %s, now %s", on.name, c, before, after)
	}
	return o, nil
}

// stored returns what is compared of an object. An object that is terminating counts as deleted: without controllers, its finalizers stay.
func (c tableCase) stored(obj object) string {
	metadata, _ := obj["metadata"].(object)
	if metadata == nil || c.deletes && metadata["deletionTimestamp"] != nil {
		return "deleted"
	}
	if c.deletes {
		return "not deleted"
	}
	return text([]any{obj["spec"], obj["status"], obj["data"], metadata["labels"], metadata["annotations"]})
}

func nameOf(obj object) string {
	metadata, _ := obj["metadata"].(object)
	name, _ := metadata["name"].(string)
	return name
}

// user returns the user that makes the writes of a row.
func (row *tableRow) user() string {
	if row.holder {
		return "holder"
	}
	return "writer"
}

// text returns a value as JSON.
func text(value any) string {
	if value == nil {
		return "absent"
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return err.Error()
	}
	return strings.TrimSpace(out.String())
}
