package history_test

import (
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"holdfast.dev/holdfast/internal/fieldhistory"
	"holdfast.dev/holdfast/internal/waittest"
	"holdfast.dev/holdfast/internal/yamltest"
)

// definitionOf returns a definition with the versions v1 and v2, whose objects have the field spec.name and spec.title.
func definitionOf(plural, conversion, stored string) string {
	const form = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %[1]s.example.com}
spec:
  group: example.com
  names: {plural: %[1]s, kind: Kind%[1]s}
  scope: Namespaced
  conversion: %[2]s
  versions:
  - {name: v1, served: true, storage: %[3]t, schema: &schema {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {
      name: {type: string}, title: {type: string}, size: {type: integer}}}}}}}
  - {name: v2, served: true, storage: %[4]t, schema: *schema}
`
	return fmt.Sprintf(form, plural, conversion, stored == "v1", stored == "v2")
}

// convert is a conversion webhook: spec.name of v1 is spec.title of v2.
func convert(w http.ResponseWriter, r *http.Request) {
	var review apiextensionsv1.ConversionReview
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	response := &apiextensionsv1.ConversionResponse{UID: review.Request.UID, Result: metav1.Status{Status: metav1.StatusSuccess}}
	for _, raw := range review.Request.Objects {
		obj := &unstructured.Unstructured{}
		if err := obj.UnmarshalJSON(raw.Raw); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		obj.SetAPIVersion(review.Request.DesiredAPIVersion)
		from, to := "name", "title"
		if strings.HasSuffix(review.Request.DesiredAPIVersion, "/v1") {
			from, to = to, from
		}
		spec, _ := obj.Object["spec"].(map[string]any)
		if v, ok := spec[from]; ok {
			delete(spec, from)
			spec[to] = v
		}
		response.ConvertedObjects = append(response.ConvertedObjects, runtime.RawExtension{Object: obj})
	}
	review.Response, review.Request = response, nil
	w.Header().Set("Content-Type", "application/json")
	// An error means that the server has closed the connection.
	_ = json.NewEncoder(w).Encode(review)
}

// TestStorageVersions changes the version in which objects are stored. History goes back across it, with a conversion webhook and without one,
// and an undo writes the object in the version of the earlier state.
func TestStorageVersions(t *testing.T) {
	t.Parallel()
	server, c := start(t)
	hook := httptest.NewTLSServer(http.HandlerFunc(convert))
	t.Cleanup(hook.Close)
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: hook.Certificate().Raw})
	webhook := fmt.Sprintf("{strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {url: %q, caBundle: %s}}}",
		hook.URL, base64.StdEncoding.EncodeToString(certificate))
	client := dynamic.NewForConfigOrDie(server.Config(t))
	crds := client.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	for plural, test := range map[string]struct{ conversion, field string }{"plains": {"{strategy: None}", "name"}, "hooks": {webhook, "title"}} {
		t.Run(plural, func(t *testing.T) {
			if _, err := crds.Create(t.Context(), yamltest.Object(t, definitionOf(plural, test.conversion, "v1")), metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			in := func(version string) dynamic.ResourceInterface {
				return client.Resource(schema.GroupVersionResource{Group: "example.com", Version: version, Resource: plural}).Namespace(namespace)
			}
			served := func() {
				t.Helper()
				waittest.Until(t, "the kind is served", func() error {
					for _, version := range []string{"v1", "v2"} {
						if _, err := in(version).List(t.Context(), metav1.ListOptions{}); err != nil {
							return err
						}
					}
					return nil
				})
			}
			patch := func(version, text string) {
				t.Helper()
				if _, err := in(version).Patch(t.Context(), "a", types.MergePatchType, []byte(text), metav1.PatchOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			served()
			obj := yamltest.Object(t, fmt.Sprintf(`{apiVersion: example.com/v1, kind: Kind%s, metadata: {name: a}, spec: {name: one, size: 1}}`, plural))
			if _, err := in("v1").Create(t.Context(), obj, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			patch("v1", `{"spec":{"name":"two"}}`)
			// A write in another version than the stored one is recorded in the stored one.
			patch("v2", fmt.Sprintf(`{"spec":{%q:"three"}}`, test.field))
			object := plural + ".example.com/a"
			items := c.history(t, object).Items
			if last := items[len(items)-1]; len(items) != 3 || last.APIVersion != "example.com/v1" || last.Changes[0].Path != ".spec.name" {
				t.Fatalf("the entries are %+v", items)
			}

			// The server writes the condition of the definition meanwhile.
			change := func(changed func(live *unstructured.Unstructured) *unstructured.Unstructured) {
				t.Helper()
				waittest.Until(t, "the definition is changed", func() error {
					live, err := crds.Get(t.Context(), plural+".example.com", metav1.GetOptions{})
					if err == nil {
						_, err = crds.Update(t.Context(), changed(live), metav1.UpdateOptions{})
					}
					return err
				})
			}
			change(func(live *unstructured.Unstructured) *unstructured.Unstructured {
				changed := yamltest.Object(t, definitionOf(plural, test.conversion, "v2"))
				changed.SetResourceVersion(live.GetResourceVersion())
				return changed
			})
			served()
			size := 1
			waittest.Until(t, "objects are stored in v2", func() bool {
				size++
				patch("v2", fmt.Sprintf(`{"spec":{"size":%d}}`, size))
				items = c.history(t, object).Items
				return items[len(items)-1].APIVersion == "example.com/v2"
			})
			converted := items[len(items)-2]
			if converted.Operation != fieldhistory.Convert || converted.PreviousVersion != "example.com/v1" || converted.Truncated {
				t.Fatalf("the entries are %+v", items)
			}
			patch("v1", `{"spec":{"name":"four"}}`)

			// A field of the older version is named in it.
			r := c.undo(t, object, "--field", ".metadata.annotations")
			if r.code != 1 || !strings.Contains(r.err.Error(), fmt.Sprintf("the entries up to %d are in the version example.com/v1 of the API, and those after it in "+
				"example.com/v2: there the path may be another field; --to %d --field FIELD", converted.Number-1, converted.Number-1)) {
				t.Errorf("code %d, %v", r.code, r.err)
			}
			r = c.undo(t, object, "--to", "2", "--field", ".spec.name", "--yes")
			if r.err != nil || !strings.Contains(r.out, "the state after entry 2, in example.com/v1") {
				t.Errorf("%s%s%v", r.out, r.notes, r.err)
			}
			now, err := in("v2").Get(t.Context(), "a", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			want := map[string]any{test.field: "two", "size": int64(size)}
			if got := now.Object["spec"]; fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("after --field the object has %v, want %v", got, want)
			}
			if r := c.undo(t, object, "--to", "1", "--yes"); r.err != nil {
				t.Errorf("%s%s%v", r.out, r.notes, r.err)
			}
			if now, err = in("v1").Get(t.Context(), "a", metav1.GetOptions{}); err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprint(now.Object["spec"]); got != "map[name:one size:1]" {
				t.Errorf("after --to 1 the object has %s", got)
			}
			// The history itself goes back from the object in the stored version.
			if now, err = in("v2").Get(t.Context(), "a", metav1.GetOptions{}); err != nil {
				t.Fatal(err)
			}
			items = c.history(t, object).Items
			state, err := fieldhistory.State(fieldhistory.Content(now.Object), items, 2)
			if spec := fmt.Sprint(state["spec"]); err != nil || spec != "map[name:two size:1]" || fieldhistory.VersionOf(items, 2) != "example.com/v1" {
				t.Errorf("the state after entry 2 has %s, in %s, %v", spec, fieldhistory.VersionOf(items, 2), err)
			}

			// Without the older version, the state cannot be written.
			change(func(live *unstructured.Unstructured) *unstructured.Unstructured {
				versions, _, err := unstructured.NestedSlice(live.Object, "spec", "versions")
				if err != nil {
					t.Fatal(err)
				}
				versions[0].(map[string]any)["served"] = false
				if err := unstructured.SetNestedSlice(live.Object, versions, "spec", "versions"); err != nil {
					t.Fatal(err)
				}
				return live
			})
			waittest.Until(t, "v1 is not served", func() bool {
				_, err := in("v1").List(t.Context(), metav1.ListOptions{})
				return err != nil
			})
			r = c.undo(t, object, "--to", "2")
			if r.code != 1 || !strings.Contains(r.err.Error(), "the state is in the version example.com/v1, and the object is stored in example.com/v2: ") ||
				!strings.Contains(r.err.Error(), "serve example.com/v1 again") {
				t.Errorf("code %d, %v", r.code, r.err)
			}
		})
	}
}
