package custom_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestAppliedText applies configurations as YAML and as JSON, with and without duplicate
// keys.
func TestAppliedText(t *testing.T) {
	t.Parallel()
	const group = "text.example.com"
	define(t, group, `{type: object, properties: {num: {type: integer, format: int64}, text: {type: string}}}`)
	const head = "apiVersion: text.example.com/v1\nkind: Thing\nmetadata:\n  name: o\n"
	const jsonHead = `"apiVersion":"text.example.com/v1","kind":"Thing","metadata":{"name":"o"}`
	const duplicate = "{" + jsonHead + `,"spec":{"num":1,"num":2}}`
	cases := map[string]struct {
		query, body string
		want        []string
	}{
		"YAML": {
			"", head + "spec:\n  num: 9007199254740993\n  text: \"on\"\n",
			[]string{"200", `"num":9007199254740993`, `"text":"on"`},
		},
		"JSON": {
			"", "{" + jsonHead + `,"spec":{"num":9007199254740993,"text":"<é>"}}`,
			[]string{"200", `"num":9007199254740993`, "\\u003cé\\u003e"},
		},
		"YAML with a duplicate key": {"", head + "spec:\n  num: 1\n  num: 2\n", []string{"200", "already set in map"}},
		"JSON with a duplicate key": {"", duplicate, []string{"200", "already set in map"}},
		"duplicate key, Strict":     {"&fieldValidation=Strict", duplicate, []string{"400", "already set in map"}},
		"duplicate key, Ignore":     {"&fieldValidation=Ignore", duplicate, []string{"200"}},
		"neither YAML nor JSON":     {"", "{" + jsonHead + `,"spec":{"num":`, []string{"400", "error decoding patch"}},
		"a list":                    {"", `[{"a":1}]`, []string{"400", "error decoding patch"}},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			url := shared.url + objectsPath(group) + "/o?fieldManager=m&force=true" + test.query
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPatch, url, strings.NewReader(test.body))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Content-Type", "application/apply-patch+yaml")
			res, err := shared.http.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = res.Body.Close() }()
			body, err := io.ReadAll(res.Body)
			if err != nil {
				t.Fatal(err)
			}
			// The first request creates the object and is answered with 201.
			got := strings.Replace(fmt.Sprint(res.StatusCode, res.Header["Warning"], string(body)), "201", "200", 1)
			for _, want := range test.want {
				if !strings.Contains(got, want) {
					t.Errorf("want %s in %s", want, got)
				}
			}
		})
	}
}

// TestApplyWithoutKey applies an item that lacks the only key of its list.
func TestApplyWithoutKey(t *testing.T) {
	t.Parallel()
	const group = "keyless.example.com"
	define(t, group, `{type: object, properties: {l: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k],
		items: {type: object, required: [k], properties: {k: {type: string}, v: {type: string}}}}}}`)
	const want = "400 failed to create typed patch object (/o; keyless.example.com/v1, Kind=Thing): .spec.l:"
	for _, body := range []string{`{l: [{v: a}]}`, `{l: [{k: a}, {k: a}]}`} {
		got, err := shared.do(apply, objectPath(group)+"?fieldManager=m", object(group, "v1", body))
		if err != nil || !strings.HasPrefix(got.text(), want) {
			t.Errorf("%s: %s, %v", body, got.text(), err)
		}
	}
}

// TestApplyAfterClientSideApply checks that the last-applied annotation follows a server-side
// apply of kubectl: it holds the whole configuration. A server-side apply of another manager does
// not change it.
func TestApplyAfterClientSideApply(t *testing.T) {
	t.Parallel()
	const group, annotation = "after.example.com", "kubectl.kubernetes.io/last-applied-configuration"
	define(t, group, `{type: object, properties: {num: {type: integer}, text: {type: string}}}`)
	const head = `"apiVersion":"after.example.com/v1","kind":"Thing","metadata":{"name":"o","namespace":"default"},`
	before := "{" + head + `"spec":{"num":1}}`
	shared.must(t, http.StatusCreated, "POST", objectsPath(group)+"?fieldManager=kubectl-client-side-apply",
		"{"+strings.Replace(head, `"name":"o"`, fmt.Sprintf(`"name":"o","annotations":{%q:%q}`, annotation, before), 1)+`"spec":{"num":1}}`)
	for _, manager := range []string{"other", "kubectl"} {
		body := "{" + head + fmt.Sprintf(`"spec":{"num":1,"text":%q}}`, manager)
		got := shared.must(t, http.StatusOK, apply, objectsPath(group)+"/o?force=true&fieldManager="+manager, body)
		want := before
		if manager == "kubectl" {
			want = body
		}
		if applied := strings.TrimSpace(got.GetAnnotations()[annotation]); applied != want {
			t.Errorf("%s: the annotation is %s, want %s", manager, applied, want)
		}
		if text, _, _ := unstructured.NestedString(got.Object, "spec", "text"); text != manager {
			t.Errorf("%s applied %v", manager, got.Object["spec"])
		}
	}
}
