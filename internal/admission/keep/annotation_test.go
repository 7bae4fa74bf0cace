package keep_test

import (
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/internal/apiserver/servertest"
)

// The values that the annotation can have depend on the kind.
func TestValues(t *testing.T) {
	t.Parallel()
	boats := define(t, "values.example.com")
	c := newNamespace(t)
	v1 := func(resource string) schema.GroupVersionResource {
		return schema.GroupVersionResource{Version: "v1", Resource: resource}
	}
	tests := map[string]struct {
		resource schema.GroupVersionResource
		object   string
		// want is in the message of the error, empty if the object is created.
		want string
	}{
		"always":                {resource: configMaps, object: configMap(`{name: a, annotations: {holdfast.dev/keep: always}}`)},
		"another value":         {resource: configMaps, object: configMap(`{name: b, annotations: {holdfast.dev/keep: "yes"}}`), want: `Unsupported value: "yes": supported values: "always"`},
		"no value":              {resource: configMaps, object: configMap(`{name: b, annotations: {holdfast.dev/keep: ""}}`), want: `Unsupported value: ""`},
		"no objects to wait on": {resource: configMaps, object: configMap(`{name: b, annotations: {holdfast.dev/keep: while-objects}}`), want: `Unsupported value: "while-objects"`},
		"custom resource":       {resource: boats, object: boat("values.example.com", `{name: a, annotations: {holdfast.dev/keep: always}}`)},
		"custom resource, another value": {
			resource: boats, object: boat("values.example.com", `{name: b, annotations: {holdfast.dev/keep: while-objects}}`),
			want: `metadata.annotations[holdfast.dev/keep]: Unsupported value: "while-objects"`,
		},
		"namespace": {
			resource: namespaces, object: `{apiVersion: v1, kind: Namespace, metadata: {name: values-a, annotations: {holdfast.dev/keep: while-objects}}}`,
		},
		"namespace, another value": {
			resource: namespaces, object: `{apiVersion: v1, kind: Namespace, metadata: {name: values-b, annotations: {holdfast.dev/keep: never}}}`,
			want: `supported values: "always", "while-objects"`,
		},
		"pod": {
			resource: v1("pods"), want: "objects of pods cannot be kept",
			object: `{apiVersion: v1, kind: Pod, metadata: {name: a, annotations: {holdfast.dev/keep: always}}, spec: {containers: [{name: a, image: a}]}}`,
		},
		"event": {
			resource: v1("events"), want: "objects of events cannot be kept",
			object: `{apiVersion: v1, kind: Event, metadata: {name: a, annotations: {holdfast.dev/keep: always}}, involvedObject: {namespace: ` + c.Namespace + `}}`,
		},
		"event of events.k8s.io": {
			resource: schema.GroupVersionResource{Group: "events.k8s.io", Version: "v1", Resource: "events"}, want: "cannot be kept",
			object: `{apiVersion: events.k8s.io/v1, kind: Event, metadata: {name: a, annotations: {holdfast.dev/keep: always}},
				eventTime: "2026-01-01T00:00:00.000000Z", action: a, reason: a, type: Normal, reportingController: example.com/a, reportingInstance: a,
				regarding: {namespace: ` + c.Namespace + `}}`,
		},
		"lease": {
			resource: schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}, want: "cannot be kept",
			object: `{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: a, annotations: {holdfast.dev/keep: always}}}`,
		},
		"slice": {
			resource: schema.GroupVersionResource{Group: "discovery.k8s.io", Version: "v1", Resource: "endpointslices"}, want: "cannot be kept",
			object: `{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: a, annotations: {holdfast.dev/keep: always}}, addressType: IPv4, endpoints: []}`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			err := c.create(t, test.resource, test.object)
			if test.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want 422 with %q", err, test.want)
			}
		})
	}
}

// A Binding adds its annotations to a pod, which cannot be kept.
func TestBinding(t *testing.T) {
	t.Parallel()
	c := newNamespace(t)
	c.mustCreate(t, schema.GroupVersionResource{Version: "v1", Resource: "pods"},
		`{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: a, image: a}]}}`)
	binding := &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Name: "a", Annotations: map[string]string{"holdfast.dev/keep": "always"}},
		Target:     corev1.ObjectReference{Kind: "Node", Name: "host"},
	}
	if err := c.CoreV1().Pods(c.Namespace).Bind(t.Context(), binding, metav1.CreateOptions{}); !apierrors.IsInvalid(err) {
		t.Errorf("error %v, want 422", err)
	}
}

// bindTo gives a user a ClusterRole in the namespace of a cluster, and returns the cluster with this user.
func bindTo(t testing.TB, c cluster, role string) cluster {
	t.Helper()
	user := role + "-of-" + c.Namespace
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	}
	if _, err := c.RbacV1().RoleBindings(c.Namespace).Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	servertest.AwaitRight(t, c, user, authorizationv1.ResourceAttributes{Namespace: c.Namespace, Verb: "update", Resource: "configmaps"})
	return c.as(user)
}

// A user sets the annotation with the right to update, and changes or removes it with the verb unlock. The role admin has this verb in
// its namespace, the role edit has not, and neither has the server itself.
func TestUnlock(t *testing.T) {
	t.Parallel()
	boats := define(t, "unlock.example.com")
	c := newNamespace(t)
	editor, admin := bindTo(t, c, "edit"), bindTo(t, c, "admin")
	server := c.as("system:apiserver", "system:masters")
	deployments := schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	c.mustCreate(t, configMaps, configMap(`{name: a}`))
	c.mustCreate(t, boats, boat("unlock.example.com", `{name: a}`))
	c.mustCreate(t, deployments, `{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, spec: {selector: {matchLabels: {a: b}},
		template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: a}]}}}}`)
	const kept, open, other = `{annotations: {holdfast.dev/keep: always}}`, `{annotations: {holdfast.dev/keep: null}}`, `{labels: {a: b}}`
	for _, step := range []struct {
		name         string
		by           cluster
		resource     schema.GroupVersionResource
		object       string
		metadata     string
		subresources []string
		refused      bool
	}{
		{name: "an editor keeps it", by: editor, resource: configMaps, metadata: kept},
		{name: "an editor changes a label", by: editor, resource: configMaps, metadata: other},
		{name: "an editor removes it", by: editor, resource: configMaps, metadata: open, refused: true},
		{name: "the server removes it", by: server, resource: configMaps, metadata: open, refused: true},
		{name: "an administrator of the namespace removes it", by: admin, resource: configMaps, metadata: open},
		{name: "an editor keeps it again", by: editor, resource: configMaps, metadata: kept},
		{name: "the administrator removes it", by: c, resource: configMaps, metadata: open},
		{name: "a boat is kept", by: c, resource: boats, metadata: kept},
		{name: "the server changes a boat", by: server, resource: boats, metadata: open, refused: true},
		{name: "the administrator changes a boat", by: c, resource: boats, metadata: open},
		{name: "a deployment is kept through its status", by: server, resource: deployments, metadata: kept, subresources: []string{"status"}},
		{
			name: "a deployment is not released through its status", by: server, resource: deployments, metadata: open,
			subresources: []string{"status"}, refused: true,
		},
		{name: "a namespace is kept", by: c, resource: namespaces, object: c.Namespace, metadata: `{annotations: {holdfast.dev/keep: while-objects}}`},
		{name: "another value is a change", by: server, resource: namespaces, object: c.Namespace, metadata: kept, refused: true},
		{
			name: "another value through the status", by: server, resource: namespaces, object: c.Namespace, metadata: kept,
			subresources: []string{"status"}, refused: true,
		},
		{name: "the namespace is released", by: c, resource: namespaces, object: c.Namespace, metadata: open},
	} {
		object := step.object
		if object == "" {
			object = "a"
		}
		err := step.by.patch(t, step.resource, object, step.metadata, step.subresources...)
		if !step.refused {
			if err != nil {
				t.Fatalf("%s: %v", step.name, err)
			}
			continue
		}
		if !apierrors.IsBadRequest(err) || causesOf(err) != 1 || !strings.Contains(err.Error(), "(a user that may unlock it can change it)") {
			t.Errorf("%s: %v, want 400 that names the verb", step.name, err)
		}
	}
}

// The subresource finalize of a namespace changes its annotations too.
func TestFinalize(t *testing.T) {
	t.Parallel()
	c := newNamespace(t)
	if err := c.patch(t, namespaces, c.Namespace, `{annotations: {holdfast.dev/keep: always}}`); err != nil {
		t.Fatal(err)
	}
	namespace, err := c.CoreV1().Namespaces().Get(t.Context(), c.Namespace, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	namespace.Annotations = nil
	_, err = c.as("system:apiserver", "system:masters").CoreV1().Namespaces().Finalize(t.Context(), namespace, metav1.UpdateOptions{})
	if !apierrors.IsBadRequest(err) {
		t.Errorf("error %v, want 400", err)
	}
}
