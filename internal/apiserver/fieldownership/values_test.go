package fieldownership_test

import (
	"net/http"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/native"
	"holdfast.dev/holdfast/internal/native/views"
	"holdfast.dev/holdfast/internal/yamltest"
)

// newFile returns a manifest of a built-in kind in the namespace default.
func newFile(t testing.TB, resource, text string) *manifest {
	t.Helper()
	m := &manifest{object: yamltest.Map(t, text), resource: resource, namespaced: true}
	m.meta().SetNamespace("default")
	m.typ = views.New().Of(m.meta().GroupVersionKind().GroupKind())
	return m
}

// TestStoredValues checks fields that the server stores otherwise than clients send them.
func TestStoredValues(t *testing.T) {
	t.Parallel()
	config := servertest.Start(t, apiserver.Config{}).Config(t)
	w := newWire(t, config, native.NewScheme())
	t.Run("empty lists", func(t *testing.T) { checkEmptyLists(t, w) })
	t.Run("defaults", func(t *testing.T) { checkDependentDefaults(t, w) })
	t.Run("stringData", func(t *testing.T) { checkStringData(t, w) })
	t.Run("null of server-side apply", func(t *testing.T) { checkServerSideNull(t, w) })
	t.Run("notes", func(t *testing.T) { checkNotes(t, config) })
}

// The server serves some empty lists as null. An apply of the same file changes nothing.
func checkEmptyLists(t *testing.T, w *wire) {
	for resource, text := range map[string]string{
		"roles":       "{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: a}, rules: []}",
		"limitranges": "{apiVersion: v1, kind: LimitRange, metadata: {name: a}, spec: {limits: []}}",
		"endpointslices": "{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: a}, addressType: IPv4, " +
			"endpoints: [], ports: []}",
	} {
		t.Run(resource, func(t *testing.T) {
			m := newFile(t, resource, text)
			for range 3 {
				got := w.applyAs(t, m, "kubectl-client-side-apply")
				if !got.stored() || len(got.warnings) > 0 {
					t.Errorf("%s, told %q", got.message(), got.warnings)
				}
			}
		})
	}
}

// The default of a field may depend on a field that a write does not change: policyTypes of a
// NetworkPolicy depends on egress.
func checkDependentDefaults(t *testing.T, w *wire) {
	m := newFile(t, "networkpolicies", "{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: a}, "+
		"spec: {podSelector: {}, egress: [{}], policyTypes: []}}")
	w.applyAs(t, m, "kubectl-client-side-apply")
	got := w.send(t, call{
		method: http.MethodPatch, path: m.path(), command: "kubectl patch", query: managedBy("kubectl-patch"),
		kind: string(types.MergePatchType), body: []byte(`{"spec":{"policyTypes":["Ingress"]}}`),
	})
	if !got.stored() || len(read(got.warnings).fields) != 1 {
		t.Errorf("%s, told %q", got.message(), got.warnings)
	}
	if got = w.applyAs(t, m, "kubectl-client-side-apply"); len(read(got.warnings).fields) != 1 {
		t.Errorf("apply: %s, told %q", got.message(), got.warnings)
	}
}

// The stringData of a Secret is its data: for the owner of a field, for an edit, and for the
// conflicts of server-side apply.
func checkStringData(t *testing.T, w *wire) {
	m := newFile(t, "secrets", "{apiVersion: v1, kind: Secret, metadata: {name: a}, stringData: {key: one, empty: ''}}")
	w.applyAs(t, m, "kubectl-client-side-apply")
	patch := func(command, body string) reply {
		return w.send(t, call{
			method: http.MethodPatch, path: m.path(), command: command, query: managedBy("kubectl-patch"),
			kind: string(types.MergePatchType), body: []byte(body),
		})
	}
	for name, test := range map[string]struct {
		command, body string
		code, told    int
	}{
		"edit of data":              {"kubectl edit", `{"data":{"key":"dHdv"}}`, http.StatusUnprocessableEntity, 0},
		"edit of stringData":        {"kubectl edit", `{"stringData":{"key":"two"}}`, http.StatusUnprocessableEntity, 0},
		"edit of an empty key":      {"kubectl edit", `{"stringData":{"empty":"two"}}`, http.StatusUnprocessableEntity, 0},
		"edit of another key":       {"kubectl edit", `{"stringData":{"free":"two"}}`, http.StatusOK, 0},
		"edit to the applied value": {"kubectl edit", `{"stringData":{"key":"one"}}`, http.StatusOK, 0},
		"patch":                     {"kubectl patch", `{"stringData":{"key":"two"}}`, http.StatusOK, 1},
	} {
		t.Run(name, func(t *testing.T) {
			got := patch(test.command, test.body)
			if got.code != test.code || len(got.warnings) != test.told {
				t.Errorf("%s, told %q", got.message(), got.warnings)
			}
			patch("kubectl patch", `{"stringData":{"key":"one","empty":""}}`)
		})
	}
	t.Run("server-side apply", func(t *testing.T) {
		m := newFile(t, "secrets", "{apiVersion: v1, kind: Secret, metadata: {name: b}, stringData: {key: one}}")
		if got := w.applyServerSide(t, m, "ci"); !got.stored() {
			t.Fatal(got.message())
		}
		other := newFile(t, "secrets", "{apiVersion: v1, kind: Secret, metadata: {name: b}, data: {key: dHdv}}")
		got := w.send(t, call{
			method: http.MethodPatch, path: other.path(), command: "kubectl apply", query: managedBy("other"),
			kind: string(types.ApplyYAMLPatchType), body: other.object,
		})
		if got.code != http.StatusConflict {
			t.Errorf("another manager of the same key: %s", got.message())
		}
		got = w.send(t, call{
			method: http.MethodPatch, path: other.path(), command: "kubectl patch", query: managedBy("kubectl-patch"),
			kind: string(types.MergePatchType), body: []byte(`{"data":{"key":"dHdv"}}`),
		})
		if len(got.warnings) != 1 || !strings.HasSuffix(got.warnings[0], "  The next apply of ci is refused with a conflict unless it forces.") {
			t.Errorf("a patch of the key: %s, told %q", got.message(), got.warnings)
		}
	})
}

// A null in a file of server-side apply owns the absence of a field, unless the field is an
// object.
func checkServerSideNull(t *testing.T, w *wire) {
	m := newFile(t, "podtemplates", "{apiVersion: v1, kind: PodTemplate, metadata: {name: null-of-ssa}, "+
		"template: {spec: {containers: [{name: a, image: a}], affinity: null, activeDeadlineSeconds: null}}}")
	w.applyServerSide(t, m, "ci")
	for field, told := range map[string]int{`"affinity":{"podAffinity":{}}`: 0, `"activeDeadlineSeconds":5`: 1} {
		got := w.send(t, call{
			method: http.MethodPatch, path: m.path(), command: "kubectl patch", query: managedBy("kubectl-patch"),
			kind: string(types.MergePatchType), body: []byte(`{"template":{"spec":{` + field + `}}}`),
		})
		if !got.stored() || len(got.warnings) != told {
			t.Errorf("patch of %s: %s, told %q", field, got.message(), got.warnings)
		}
		if got = w.applyServerSide(t, m, "ci"); !got.stored() || len(got.warnings) != told {
			t.Errorf("apply after %s: %s, told %q", field, got.message(), got.warnings)
		}
	}
}

// What cannot be checked is said once for each object and annotation.
func checkNotes(t *testing.T, config *rest.Config) {
	create(t, config, "noted", "{broken")
	c := running(t, config, "kubectl patch")
	write := func(body string) int {
		t.Helper()
		if err := patchConfig(t.Context(), c, "noted", body, "kubectl-patch"); err != nil {
			t.Fatal(err)
		}
		return len(c.heard())
	}
	for i, step := range []struct {
		body string
		want int
	}{
		{`{"data":{"a":"2"}}`, 1},
		{`{"data":{"a":"3"}}`, 0},
		{`{"metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{worse"}}}`, 0},
		{`{"data":{"a":"4"}}`, 1},
		{`{"data":{"a":"5"}}`, 0},
	} {
		if got := write(step.body); got != step.want {
			t.Errorf("step %d: told %d lines, want %d", i+1, got, step.want)
		}
	}
}
