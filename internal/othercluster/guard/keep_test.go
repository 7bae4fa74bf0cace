package guard_test

import (
	"errors"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/internal/othercluster/guard"
	"holdfast.dev/holdfast/internal/waittest"
	"holdfast.dev/holdfast/internal/yamltest"
)

// remove deletes an object, and returns the answer as text.
func (f *fixture) remove(resource, name string) string {
	f.Helper()
	return outcome(f.of(resource).Delete(f.Context(), name, metav1.DeleteOptions{}))
}

// judged asks the guard about the deletion of an object as an API server does, and returns the answer. Our server keeps objects too, so
// an answer to a deletion does not show which of them gave it.
func (f *fixture) judged(resource, name string) error {
	f.Helper()
	found, err := f.of(resource).Get(f.Context(), name, metav1.GetOptions{})
	if err != nil {
		f.Fatal(err)
	}
	return f.judgedObject(resource, found)
}

// judgedObject is judged for an object that may have been deleted.
func (f *fixture) judgedObject(resource string, found *unstructured.Unstructured) error {
	f.Helper()
	of, _ := schema.ParseResourceArg(resource[strings.Index(resource, "/")+1:])
	if of == nil {
		of = &schema.GroupVersionResource{Version: "v1", Resource: resource[strings.Index(resource, "/")+1:]}
	}
	_, answered := f.post(f.address(guard.KeepWebhook), &admissionv1.AdmissionRequest{
		UID: "1", Operation: admissionv1.Delete, Namespace: found.GetNamespace(), Name: found.GetName(),
		Kind: metav1.GroupVersionKind(found.GroupVersionKind()), Resource: metav1.GroupVersionResource(*of),
		UserInfo:  authenticationv1.UserInfo{Username: "admin", Groups: []string{"system:masters"}},
		OldObject: runtime.RawExtension{Raw: encode(f.T, found.Object)},
	})
	switch {
	case answered == nil:
		f.Fatal("no answer")
	case !answered.Allowed:
		return &apierrors.StatusError{ErrStatus: *answered.Result}
	}
	return nil
}

// keeps waits until the API server asks the guard about the annotation: a value that it cannot have is refused.
func (f *fixture) keeps() {
	f.Helper()
	f.guarded("*/*")
	wrong := yamltest.Object(f, `{apiVersion: v1, kind: ConfigMap, metadata: {name: wrong, annotations: {holdfast.dev/keep: never}}}`)
	waittest.Until(f.T, "the guard is asked about the annotation", func() bool {
		_, err := f.of("default/configmaps").Create(f.Context(), wrong, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return apierrors.IsInvalid(err)
	})
}

const (
	keptConfigMap = `{apiVersion: v1, kind: ConfigMap, metadata: {name: kept, annotations: {holdfast.dev/keep: always}}}`
	keptWidget    = `{apiVersion: example.com/v1, kind: Widget, metadata: {name: kept, annotations: {holdfast.dev/keep: always}}}`
)

// TestKeep checks that objects with the annotation stay, and with them their namespace and their definition, and that all other
// deletions do not need the guard.
func TestKeep(t *testing.T) {
	t.Parallel()
	f := start(t)
	for _, name := range []string{"old", "prod", "plain", "empty", "full"} {
		f.create("namespaces", `{apiVersion: v1, kind: Namespace, metadata: {name: `+name+`}}`)
	}
	f.create(definitions, widgetsDefinition)
	f.create("old/configmaps", keptConfigMap)
	f.run()
	f.keeps()
	waittest.Until(t, "the guard finds the object that is older than it", func() bool { return f.webhooks("namespaces") != "" })

	f.create("prod/configmaps", keptConfigMap)
	f.create("prod/configmaps", `{apiVersion: v1, kind: ConfigMap, metadata: {name: free}}`)
	f.create(widgets, keptWidget)
	f.create("plain/configmaps", `{apiVersion: v1, kind: ConfigMap, metadata: {name: free}}`)
	for _, name := range []string{"empty", "full"} {
		if got := f.patch("namespaces", name, `{metadata: {annotations: {holdfast.dev/keep: while-objects}}}`); got != "ok" {
			t.Fatal(got)
		}
	}
	f.create("full/configmaps", `{apiVersion: v1, kind: ConfigMap, metadata: {name: free}}`)

	const byAnnotation = `cannot be deleted: the annotation holdfast.dev/keep: always keeps it`
	kept := func(resource, name, want string) {
		t.Helper()
		for _, got := range []string{outcome(f.judged(resource, name)), f.remove(resource, name)} {
			if !strings.HasPrefix(got, "Conflict: ") || !strings.Contains(got, want) {
				t.Errorf("%s %s: %s, want %s", resource, name, got, want)
			}
		}
	}
	err := f.judged("prod/configmaps", "kept")
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil || len(status.Status().Details.Causes) != 1 ||
		status.Status().Details.Causes[0].Type != "ObjectKept" {
		t.Errorf("%v has no cause ObjectKept", err)
	}
	kept("prod/configmaps", "kept", `configmaps "kept" `+byAnnotation)
	kept(widgets, "kept", `widgets.example.com "kept" `+byAnnotation)
	kept("namespaces", "prod", `namespaces "prod" cannot be deleted: it holds 1 object that must be kept: configmaps/kept`)
	kept("namespaces", "old", `it holds 1 object that must be kept: configmaps/kept`)
	kept(definitions, "widgets.example.com", `it holds 1 object that must be kept: widgets.example.com/kept`)
	kept("namespaces", "full", `keeps it while it holds objects`)
	for _, test := range []struct{ what, got string }{
		{"a namespace without objects, for the guard", outcome(f.judged("namespaces", "empty"))},
		{"another object, for the guard", outcome(f.judged("prod/configmaps", "free"))},
		{"a namespace without objects", f.remove("namespaces", "empty")},
		{"another object", f.remove("prod/configmaps", "free")},
	} {
		if test.got != "ok" {
			t.Errorf("%s: %s", test.what, test.got)
		}
	}
	f.unlocked()
	f.withoutGuard()
}

// unlocked removes the annotation, without and with the verb unlock. Then the objects can be deleted.
func (f *fixture) unlocked() {
	f.Helper()
	editor := f.as("editor")
	f.grant("editor", "get", "patch")
	const open = `{metadata: {annotations: {holdfast.dev/keep: null}}}`
	if got := editor.patch("old/configmaps", "kept", open); !strings.HasPrefix(got, "BadRequest: ") ||
		!strings.Contains(got, "(a user that may unlock it can change it)") {
		f.Errorf("without the verb: %s", got)
	}
	if got := f.patch("old/configmaps", "kept", open); got != "ok" {
		f.Errorf("with the verb: %s", got)
	}
	if got := f.remove("namespaces", "old"); got != "ok" {
		f.Errorf("a namespace without kept objects: %s", got)
	}
	_, err := f.of("default/pods").Create(f.Context(), yamltest.Object(f, `{apiVersion: v1, kind: Pod, metadata: {name: p, `+
		`annotations: {holdfast.dev/keep: always}}, spec: {containers: [{name: c, image: i}]}}`), metav1.CreateOptions{})
	if !apierrors.IsInvalid(err) {
		f.Errorf("a pod: %v", err)
	}
}

// withoutGuard stops the guard. Then only deletions of kept objects, of their namespaces and of their definitions fail.
func (f *fixture) withoutGuard() {
	f.Helper()
	waittest.Until(f.T, "the leader names the holders", func() bool {
		return f.webhooks("namespaces") == guard.HeldWebhook
	})
	f.stop()
	f.create("plain/configmaps", `{apiVersion: v1, kind: ConfigMap, metadata: {name: another}}`)
	for _, test := range []struct {
		what, got string
		ok        bool
	}{
		{"a kept object", f.remove("prod/configmaps", "kept"), false},
		{"its namespace", f.remove("namespaces", "prod"), false},
		{"its definition", f.remove(definitions, "widgets.example.com"), false},
		{"an object", f.remove("plain/configmaps", "free"), true},
		{"a label of a kept object", f.patch("prod/configmaps", "kept", `{metadata: {labels: {a: b}}}`), true},
		{"a namespace", f.remove("namespaces", "plain"), true},
	} {
		if (test.got == "ok") != test.ok {
			f.Errorf("without a guard, %s: %s", test.what, test.got)
		}
	}
}
