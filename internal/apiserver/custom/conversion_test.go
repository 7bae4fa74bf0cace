package custom_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"holdfast.dev/holdfast/internal/waittest"
)

// converter is a conversion webhook. The field spec.name of v1 is spec.title in v2 and
// spec.label in v3. The mode selects a fault; empty is none.
type converter struct {
	mu   sync.Mutex
	mode string
	// pairs counts the reviews with two objects, by the wanted version.
	pairs map[string]int
	// release ends the mode slow.
	release chan struct{}
}

var nameField = map[string]string{"v1": "name", "v2": "title", "v3": "label"}

func (c *converter) set(mode string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mode, c.pairs, c.release = mode, map[string]int{}, make(chan struct{})
}

func (c *converter) counted() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.pairs
}

func (c *converter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var review apiextensionsv1.ConversionReview
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	group, version, _ := strings.Cut(review.Request.DesiredAPIVersion, "/")
	c.mu.Lock()
	if len(review.Request.Objects) == 2 {
		c.pairs[version]++
	}
	mode, release := c.mode, c.release
	c.mu.Unlock()
	response := &apiextensionsv1.ConversionResponse{UID: review.Request.UID, Result: metav1.Status{Status: metav1.StatusSuccess}}
	for _, raw := range review.Request.Objects {
		response.ConvertedObjects = append(response.ConvertedObjects, runtime.RawExtension{Object: converted(raw.Raw, group, version, mode)})
	}
	switch mode {
	case "failing":
		response.ConvertedObjects, response.Result = nil, metav1.Status{Status: metav1.StatusFailure, Message: "cannot convert today"}
	case "broken":
		http.Error(w, "out of order", http.StatusBadGateway)
		return
	case "garbage":
		_, _ = w.Write([]byte("{"))
		return
	case "fewer":
		response.ConvertedObjects = nil
	case "another uid":
		response.UID = "other"
	case "slow":
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}
	review.Response, review.Request = response, nil
	w.Header().Set("Content-Type", "application/json")
	// An error means that the server has closed the connection.
	_ = json.NewEncoder(w).Encode(review)
}

func converted(raw []byte, group, version, mode string) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{}
	if err := obj.UnmarshalJSON(raw); err != nil {
		return obj
	}
	spec, _ := obj.Object["spec"].(map[string]any)
	from := strings.TrimPrefix(obj.GetAPIVersion(), group+"/")
	if name, ok := spec[nameField[from]]; ok {
		delete(spec, nameField[from])
		spec[nameField[version]] = name
	}
	obj.SetAPIVersion(group + "/" + version)
	switch mode {
	case "another name":
		obj.SetName("other")
	case "another version":
		obj.SetAPIVersion(group + "/" + from)
	case "another kind":
		obj.SetKind("Other")
	case "unknown field":
		spec["junk"] = "junk"
	case "many levels":
		for range 127 {
			spec["junk"] = []any{spec["junk"]}
		}
	}
	return obj
}

func startConverter(t *testing.T, group string) *converter {
	t.Helper()
	hook := &converter{}
	hook.set("")
	var versions []string
	const marker = ", x-kubernetes-immutable: true"
	for _, v := range []struct{ name, marker string }{{"v1", ""}, {"v2", marker}, {"v3", marker}} {
		versions = append(versions, fmt.Sprintf(
			`{name: %s, served: true, storage: %t, schema: {openAPIV3Schema: {type: object, properties: {`+
				`spec: {type: object, properties: {%s: {type: string%s}, size: {type: integer}}}}}}}`,
			v.name, v.name == "v1", nameField[v.name], v.marker))
	}
	shared.must(t, http.StatusCreated, "POST", definitions, things(group, fmt.Sprintf(`
  conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: %s}}
  versions: [%s]
`, startHook(t, hook.ServeHTTP), strings.Join(versions, ", "))))
	t.Cleanup(func() {
		hook.set("")
		remove(t, definitions+"/things."+group)
	})
	return hook
}

func versionPath(group, version string) string {
	return "/apis/" + group + "/" + version + "/namespaces/default/things/o"
}

func TestConversionWebhook(t *testing.T) {
	t.Parallel()
	const group = "convert.example.com"
	hook := startConverter(t, group)
	shared.must(t, http.StatusCreated, "POST", objectsPath(group), object(group, "v1", `{name: x, size: 1}`))
	both, v3 := map[string]int{"v2": 1, "v3": 1}, map[string]int{"v3": 1}
	for _, test := range []struct {
		version, body, want, spec string
		pairs                     map[string]int
	}{
		// A marker applies in every version, and the webhook is called once for each other
		// version.
		{"v1", `{spec: {size: 2}}`, "200", `map[name:x size:2]`, both},
		{"v1", `{spec: {name: other}}`, `400 spec.title: field is immutable: changed from "x" to "other"`, `map[name:x size:2]`, both},
		{"v1", `{spec: {name: other}}`, `400 spec.label: field is immutable: changed from "x" to "other"`, `map[name:x size:2]`, both},
		{"v2", `{spec: {title: other}}`, `400 spec.title: field is immutable: changed from "x" to "other"`, `map[name:x size:2]`, v3},
		{"v2", `{spec: {size: 3}}`, "200", `map[name:x size:3]`, v3},
	} {
		// If the watch cache of the version were behind, the server would refuse the write, read the object from etcd, and try again.
		now := shared.must(t, 200, "GET", objectPath(group), "").GetResourceVersion()
		shared.must(t, 200, "GET", strings.TrimSuffix(versionPath(group, test.version), "/o")+
			"?resourceVersionMatch=NotOlderThan&resourceVersion="+now, "")
		hook.set("")
		got, err := shared.do(merge, versionPath(group, test.version), test.body)
		if err != nil {
			t.Fatal(err)
		}
		code, part, _ := strings.Cut(test.want, " ")
		if !strings.HasPrefix(got.text(), code) || !strings.Contains(got.text(), part) {
			t.Errorf("%s %s: want %s\n got %s", test.version, test.body, test.want, got.text())
		}
		if diff := cmp.Diff(test.pairs, hook.counted()); diff != "" {
			t.Errorf("%s %s: reviews with both objects (-want +got)\n%s", test.version, test.body, diff)
		}
		if got := fmt.Sprint(shared.must(t, 200, "GET", objectPath(group), "").Object["spec"]); got != test.spec {
			t.Errorf("%s %s: stored %s, want %s", test.version, test.body, got, test.spec)
		}
	}
	for version, want := range map[string]string{"v2": "map[size:3 title:x]", "v3": "map[label:x size:3]"} {
		waittest.Until(t, version+" shows the last write", func() bool {
			return fmt.Sprint(shared.must(t, 200, "GET", versionPath(group, version), "").Object["spec"]) == want
		})
	}
}

// TestConversionIsPruned checks that fields which a conversion adds are pruned, in
// answers and in storage.
func TestConversionIsPruned(t *testing.T) {
	t.Parallel()
	const group = "junk.example.com"
	hook := startConverter(t, group)
	hook.set("unknown field")
	path := strings.TrimSuffix(versionPath(group, "v2"), "/o")
	created := shared.must(t, http.StatusCreated, "POST", path, object(group, "v2", `{title: x}`))
	if got := fmt.Sprint(created.Object["spec"]); got != "map[title:x]" {
		t.Errorf("answered %s", got)
	}
	// With a schema that has the field, a GET would return a stored value of it.
	shared.must(t, 200, jsonPatch, definitions+"/things."+group,
		`[{op: add, path: /spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/junk, value: {type: string}}]`)
	if got := fmt.Sprint(shared.must(t, 200, "GET", objectPath(group), "").Object["spec"]); got != "map[name:x]" {
		t.Errorf("stored %s", got)
	}
}

// TestConversionFails checks that a fault of the conversion webhook is reported to the
// client and that no data is lost.
func TestConversionFails(t *testing.T) {
	t.Parallel()
	const group = "lost.example.com"
	hook := startConverter(t, group)
	before := shared.must(t, http.StatusCreated, "POST", objectsPath(group), object(group, "v1", `{name: x, size: 1}`))
	for mode, want := range map[string]string{
		"failing":         "cannot convert today",
		"broken":          "an error on the server",
		"garbage":         "conversion webhook for",
		"fewer":           "returned 0 objects, expected 2",
		"another uid":     `expected response.uid=`,
		"another name":    "must have the same name",
		"another version": "invalid groupVersion",
		"another kind":    "invalid kind",
		"many levels":     "the converted object is nested deeper than 128 levels",
	} {
		t.Run(mode, func(t *testing.T) {
			hook.set(mode)
			got, err := shared.do(merge, objectPath(group), `{spec: {size: 2}}`)
			if err != nil {
				t.Fatal(err)
			}
			if got.code != http.StatusInternalServerError || !strings.Contains(got.text(), "conversion webhook for") ||
				!strings.Contains(got.text(), want) {
				t.Errorf("got %s, want 500 with %s", got.text(), want)
			}
			// A read that needs no conversion still works, and the object is unchanged.
			now := shared.must(t, 200, "GET", objectPath(group), "")
			if diff := cmp.Diff(before.Object, now.Object); diff != "" {
				t.Errorf("stored (-before +now)\n%s", diff)
			}
		})
	}
	t.Run("slow", func(t *testing.T) {
		hook.set("slow")
		got, err := shared.do(merge, objectPath(group)+"?timeout=1s", `{spec: {size: 2}}`)
		close(hook.release)
		// The server answers 504, or ends the connection.
		if err == nil && got.code != http.StatusGatewayTimeout {
			t.Errorf("got %s, want 504", got.text())
		}
	})
	hook.set("")
	waittest.Until(t, "writes go through again", func() bool {
		got, err := shared.do(merge, objectPath(group), `{spec: {size: 3}}`)
		return err == nil && got.code == http.StatusOK
	})
	waittest.Until(t, "the other version is there again", func() bool {
		got, err := shared.do("GET", versionPath(group, "v2"), "")
		return err == nil && fmt.Sprint(got.object.Object["spec"]) == "map[size:3 title:x]"
	})
	// A write of the metadata alone needs no conversion, so that the object can be deleted.
	hook.set("failing")
	shared.must(t, 200, merge, objectPath(group), `{metadata: {finalizers: [example.com/wait]}}`)
	shared.must(t, 200, "DELETE", objectPath(group), "")
	shared.must(t, 200, merge, objectPath(group), `{metadata: {finalizers: null}}`)
	shared.must(t, http.StatusNotFound, "GET", objectPath(group), "")
}
