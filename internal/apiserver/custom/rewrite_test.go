package custom_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/internal/yamltest"
)

// TestWriteAgain changes an object with a merge patch, an update and a JSON patch. Manager m created the object and changed
// it before, and manager other set its text. The server handles merge patches and updates that only replace values of m without
// the library, and every JSON patch with it. The outcomes are the same.
func TestWriteAgain(t *testing.T) {
	t.Parallel()
	const group = "rewrite.example.com"
	define(t, group, `{type: object, properties: {num: {type: integer, minimum: 1}, text: {type: string}, free: {type: string, default: d},
		fixed: {type: string, x-kubernetes-immutable: true},
		list: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k],
			items: {type: object, required: [k], properties: {k: {type: string}, v: {type: string}}}}}}`)
	cases := map[string]struct {
		// merge and ops are the change, as a merge patch and as a JSON patch.
		merge, ops string
		// code is the status of the answers.
		code int
	}{
		"the same value":   {`{spec: {num: 2}}`, `[{op: replace, path: /spec/num, value: 2}]`, 200},
		"another value":    {`{spec: {num: 3}}`, `[{op: replace, path: /spec/num, value: 3}]`, 200},
		"a label":          {`{metadata: {labels: {l: w}}}`, `[{op: replace, path: /metadata/labels/l, value: w}]`, 200},
		"an item":          {`{spec: {list: [{k: a, v: z}]}}`, `[{op: replace, path: /spec/list/0/v, value: z}]`, 200},
		"another's value":  {`{spec: {text: c}}`, `[{op: replace, path: /spec/text, value: c}]`, 200},
		"a field less":     {`{spec: {num: null}}`, `[{op: remove, path: /spec/num}]`, 200},
		"a default":        {`{spec: {free: null}}`, `[{op: remove, path: /spec/free}]`, 200},
		"an unknown field": {`{spec: {num: 3, w: e}}`, `[{op: replace, path: /spec/num, value: 3}, {op: add, path: /spec/w, value: e}]`, 200},
		"the status":       {`{status: {phase: p}}`, `[{op: add, path: /status, value: {phase: p}}]`, 200},
		"a wrong type":     {`{spec: {num: a}}`, `[{op: replace, path: /spec/num, value: a}]`, 400},
		"an invalid value": {`{spec: {num: 0}}`, `[{op: replace, path: /spec/num, value: 0}]`, 422},
		"a fixed value":    {`{spec: {fixed: g}}`, `[{op: replace, path: /spec/fixed, value: g}]`, 400},
		"another name":     {`{metadata: {name: x}}`, `[{op: replace, path: /metadata/name, value: x}]`, 400},
		"another UID":      {`{metadata: {uid: u}}`, `[{op: replace, path: /metadata/uid, value: u}]`, 409},
		"an old version":   {`{metadata: {resourceVersion: "1"}}`, `[{op: replace, path: /metadata/resourceVersion, value: "1"}]`, 409},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := ""
			for _, method := range []string{jsonPatch, merge, "PUT"} {
				short := strings.ToLower(strings.Trim(strings.Join(strings.Fields(method+" "+name), "-"), "'"))
				short = strings.NewReplacer("application/", "", "+", "-", "'", "").Replace(short)
				stored := writtenByTwo(t, group, short)
				body := map[string]string{merge: test.merge, "PUT": mergedInto(t, stored, test.merge)}[method]
				if body == "" {
					body = test.ops
				}
				answer, err := shared.do(method, objectsPath(group)+"/"+short+"?fieldManager=m", body)
				if err != nil {
					t.Fatal(err)
				}
				if answer.code != test.code {
					t.Errorf("%s: %s, want %d", method, answer.text(), test.code)
				}
				got := outcome(answer, stored)
				if want == "" {
					want = got
				}
				if diff := gocmp.Diff(want, got); diff != "" {
					t.Errorf("%s, -JSON patch +got:\n%s", method, diff)
				}
			}
		})
	}
}

// writtenByTwo creates an object that managers m and other wrote, long ago. m changed a number twice, so that it wrote nothing else last.
func writtenByTwo(t *testing.T, group, name string) *unstructured.Unstructured {
	t.Helper()
	path := objectsPath(group) + "/" + name
	created := object(group, "v1", `{num: 1, fixed: f, text: a, list: [{k: a, v: x}]}`)
	shared.must(t, http.StatusCreated, "POST", objectsPath(group)+"?fieldManager=m",
		strings.Replace(created, "name: o", "name: "+name+", labels: {l: v}", 1))
	shared.must(t, http.StatusOK, merge, path+"?fieldManager=other", `{spec: {text: b}}`)
	stored := shared.must(t, http.StatusOK, merge, path+"?fieldManager=m", `{spec: {num: 2}}`)
	return shared.must(t, http.StatusOK, "PUT", path+"?fieldManager=a", aged(t, stored))
}

// aged returns an object with old managers, and with an annotation of a new one. The server ignores a write that changes nothing but times.
func aged(t *testing.T, obj *unstructured.Unstructured) string {
	t.Helper()
	managers := obj.GetManagedFields()
	for i := range managers {
		day := map[string]int{"m": 1, "other": 2}[managers[i].Manager]
		managers[i].Time = &metav1.Time{Time: time.Date(2020, time.January, day, 0, 0, 0, 0, time.UTC)}
	}
	obj.SetManagedFields(managers)
	obj.SetAnnotations(map[string]string{"by": "a"})
	text, err := yaml.Marshal(obj.Object)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// mergedInto returns an object with a merge patch, as YAML.
func mergedInto(t *testing.T, obj *unstructured.Unstructured, patch string) string {
	t.Helper()
	changes := yamltest.Map(t, patch)
	var into func(to, changes map[string]any)
	into = func(to, changes map[string]any) {
		for key, v := range changes {
			below, isObject := v.(map[string]any)
			stored, wasObject := to[key].(map[string]any)
			switch {
			case v == nil:
				delete(to, key)
			case isObject && wasObject:
				into(stored, below)
			default:
				to[key] = v
			}
		}
	}
	out := obj.DeepCopy().Object
	into(out, changes)
	text, err := yaml.Marshal(out)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// outcome describes the answer to a write, without what differs in each object.
func outcome(a answer, stored *unstructured.Unstructured) string {
	if a.code != http.StatusOK {
		return fmt.Sprint(a.code)
	}
	return fmt.Sprint(a.object.Object["spec"], a.object.Object["status"], a.object.GetLabels(), managersIn(a), a.warnings,
		a.object.GetGeneration()-stored.GetGeneration(), a.object.GetResourceVersion() == stored.GetResourceVersion())
}
