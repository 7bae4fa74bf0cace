package upstream_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"
)

// difference is one respect in which our answer differs from that of Kubernetes.
type difference struct {
	Kind  string `json:"kind"`
	Stage string `json:"stage"`
	// Aspect is what differs: failure, default, stored, warning, cell, selector or property; accepted
	// or refused for an error of a write that only we accept or refuse; error for an error of only one
	// side if both refuse the write; and detail for an error with two texts.
	Aspect string `json:"aspect"`
	// Path is the field, with [] for indices and keys; or the column.
	Path string `json:"path"`
	// Ours and Theirs are the two values, or the error that only one side has.
	Ours   string `json:"ours"`
	Theirs string `json:"theirs"`
}

var brackets = regexp.MustCompile(`\[[^\]]*\]`)

// compareAnswers returns the differences between two answers.
func compareAnswers(our, their answer, columns []string) []difference {
	if our.Failure != "" || their.Failure != "" {
		if (our.Failure == "") != (their.Failure == "") || strings.HasPrefix(our.Failure, "panic") != strings.HasPrefix(their.Failure, "panic") {
			return []difference{{Aspect: "failure", Ours: our.Failure, Theirs: their.Failure}}
		}
		return nil
	}
	var found []difference
	add := func(aspect, path, our, their string) {
		found = append(found, difference{Aspect: aspect, Path: brackets.ReplaceAllString(path, "[]"), Ours: our, Theirs: their})
	}
	differing := map[string]bool{}
	compareJSON(our.Defaulted, their.Defaulted, func(path, our, their string) {
		differing[path] = true
		add("default", path, our, their)
	})
	compareErrors(our.Errors, their.Errors, func(aspect, path, ours, theirs string) {
		switch {
		case len(our.Errors) == 0:
			aspect = "accepted"
		case len(their.Errors) == 0:
			aspect = "refused"
		}
		add(aspect, path, ours, theirs)
	})
	if len(our.Errors) > 0 || len(their.Errors) > 0 {
		return found
	}
	compareJSON(our.Stored, their.Stored, func(path, our, their string) {
		if !differing[path] {
			add("stored", path, our, their)
		}
	})
	ourWarnings, theirWarnings := slices.Sorted(slices.Values(our.Warnings)), slices.Sorted(slices.Values(their.Warnings))
	for _, text := range ourWarnings {
		if !slices.Contains(theirWarnings, text) {
			add("warning", warningPath(text), text, "")
		}
	}
	for _, text := range theirWarnings {
		if !slices.Contains(ourWarnings, text) {
			add("warning", warningPath(text), "", text)
		}
	}
	for i := range max(len(our.Cells), len(their.Cells)) {
		if o, t := cell(our.Cells, i), cell(their.Cells, i); o != t {
			add("cell", columns[min(i, len(columns)-1)], o, t)
		}
	}
	names := maps.Clone(our.Fields)
	maps.Copy(names, their.Fields)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		o, hasOurs := our.Fields[name]
		t, hasTheirs := their.Fields[name]
		if o != t || hasOurs != hasTheirs {
			add("selector", name, fmt.Sprintf("%q %t", o, hasOurs), fmt.Sprintf("%q %t", t, hasTheirs))
		}
	}
	return found
}

// warningPath returns the field that a warning begins with.
func warningPath(text string) string {
	path, _, found := strings.Cut(text, ":")
	if !found || strings.Contains(path, " ") {
		return ""
	}
	return path
}

func cell(cells []any, i int) string {
	if i >= len(cells) {
		return "absent"
	}
	return fmt.Sprint(cells[i])
}

// compareErrors compares two lists of errors without their order.
func compareErrors(ours, theirs []cause, add func(aspect, path, our, their string)) {
	ours, theirs = withoutEqual(normal(ours), normal(theirs))
	for _, our := range ours {
		i := slices.IndexFunc(theirs, func(their cause) bool { return their.Field == our.Field && their.Type == our.Type })
		if i < 0 {
			add("error", our.Field, shortType(our.Type)+": "+our.Detail, "")
			continue
		}
		add("detail", our.Field, shortType(our.Type)+": "+our.Detail, shortType(theirs[i].Type)+": "+theirs[i].Detail)
		theirs = slices.Delete(slices.Clone(theirs), i, i+1)
	}
	for _, their := range theirs {
		add("error", their.Field, "", shortType(their.Type)+": "+their.Detail)
	}
}

func shortType(text string) string { return strings.TrimPrefix(text, "FieldValue") }

// normal returns the errors with the supported values in alphabetical order. Kubernetes orders some of
// them in other ways.
func normal(list []cause) []cause {
	for i := range list {
		values, found := strings.CutPrefix(list[i].Detail, "supported values: ")
		if found {
			list[i].Detail = "supported values: " + strings.Join(slices.Sorted(slices.Values(strings.Split(values, ", "))), ", ")
		}
	}
	return list
}

// withoutEqual removes the errors that both lists have. Repeated errors count once.
func withoutEqual(ours, theirs []cause) (ourRest, theirRest []cause) {
	rest := func(list, other []cause) []cause {
		var kept []cause
		for _, c := range list {
			if !slices.Contains(other, c) && !slices.Contains(kept, c) {
				kept = append(kept, c)
			}
		}
		return kept
	}
	return rest(ours, theirs), rest(theirs, ours)
}

// compareJSON calls differ for each place at which two objects differ.
func compareJSON(ours, theirs json.RawMessage, differ func(path, our, their string)) {
	var our, their any
	if json.Unmarshal(ours, &our) != nil || json.Unmarshal(theirs, &their) != nil {
		differ("", "not JSON", "or this")
		return
	}
	for _, object := range []any{our, their} {
		if object, ok := object.(map[string]any); ok {
			delete(object, "apiVersion")
		}
	}
	compareValues("", our, their, differ)
}

func compareValues(path string, our, their any, differ func(path, our, their string)) {
	switch o := our.(type) {
	case map[string]any:
		t, ok := their.(map[string]any)
		if !ok {
			break
		}
		keys := maps.Clone(o)
		maps.Copy(keys, t)
		for _, key := range slices.Sorted(maps.Keys(keys)) {
			compareValues(strings.TrimPrefix(path+"."+key, "."), o[key], t[key], differ)
		}
		return
	case []any:
		t, ok := their.([]any)
		if !ok || len(o) != len(t) {
			break
		}
		for i := range o {
			compareValues(fmt.Sprintf("%s[%d]", path, i), o[i], t[i], differ)
		}
		return
	}
	if !reflect.DeepEqual(our, their) && !bothNow(our, their) {
		differ(path, brief(our), brief(their))
	}
}

// bothNow reports whether both values are times of the last minutes. The server sets them.
func bothNow(our, their any) bool { return isNow(our) && isNow(their) }

func isNow(value any) bool {
	text, ok := value.(string)
	if !ok {
		return false
	}
	at, err := time.Parse(time.RFC3339, text)
	return err == nil && time.Since(at).Abs() < 10*time.Minute
}

// brief returns a short text for a value.
func brief(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	if len(text) > 200 {
		return string(text[:200]) + "..."
	}
	return string(text)
}
