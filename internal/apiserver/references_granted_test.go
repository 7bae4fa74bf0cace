package apiserver_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/references"
	"holdfast.dev/holdfast/internal/yamltest"
)

// A namespace without a ReferenceGrant keeps nothing because of a reference from another one, and with a grant only for the namespaces, kinds and
// names that the grant has.
func TestReferencesOfOtherNamespaces(t *testing.T) {
	t.Parallel()
	one, two := startReplicas(t)
	client := one.Cluster(t)
	victim, friend, mallory := servertest.CreateNamespace(t, client, "victim-"), servertest.CreateNamespace(t, client, "friend-"), servertest.CreateNamespace(t, client, "mallory-")
	check := func(when, secret string, used bool) {
		t.Helper()
		t.Log(when)
		awaitUse(t, one.References(), victim+"/"+secret, used)
		awaitUse(t, two.References(), victim+"/"+secret, used)
	}
	newSecret(t, client, victim, "hull")
	newSecret(t, client, victim, "sail")
	definitions := client.Dynamic.Resource(crdResource)
	applyObject(t, definitions, boats(t, `{holdfast.dev/references: "Secret spec.secret"}`, "Namespaced"))
	applyObject(t, definitions, yamltest.Object(t, `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: referencegrants.gateway.networking.k8s.io
  annotations: {api-approved.kubernetes.io: "https://github.com/kubernetes-sigs/gateway-api/pull/1"}
spec:
  group: gateway.networking.k8s.io
  names: {kind: ReferenceGrant, plural: referencegrants}
  scope: Namespaced
  versions:
  - {name: v1beta1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
`))
	boat := func(namespace, secret string) {
		t.Helper()
		applyObject(t, client.Dynamic.Resource(boatResource).Namespace(namespace), yamltest.Object(t, fmt.Sprintf(
			`{apiVersion: sea.example.com/v1, kind: Boat, metadata: {name: one}, spec: {secret: {name: %s, namespace: %s}}}`, secret, victim)))
	}
	allowed := client.Dynamic.Resource(schema.GroupVersionResource{
		Group: "gateway.networking.k8s.io", Version: "v1beta1", Resource: "referencegrants",
	}).Namespace(victim)
	grant := func(from, to string) {
		t.Helper()
		applyObject(t, allowed, yamltest.Object(t, fmt.Sprintf(`{apiVersion: gateway.networking.k8s.io/v1beta1, kind: ReferenceGrant, metadata: {name: one}, `+
			`spec: {from: [{group: sea.example.com, kind: Boat, namespace: %s}], to: [%s]}}`, from, to)))
	}
	boat(friend, "hull")
	check("no grant", "hull", false)
	grant(friend, `{group: "", kind: ConfigMap}`)
	check("a grant for another kind", "hull", false)
	grant(friend, `{group: "", kind: Secret, name: sail}`)
	check("a grant for another name", "hull", false)
	check("the name in a grant is no reference", "sail", false)
	grant(friend, `{group: "", kind: Secret}`)
	check("a grant", "hull", true)
	boat(mallory, "sail")
	check("another namespace", "sail", false)
	boat(friend, "keel")
	check("the reference ends", "hull", false)

	// The fence holds for objects of other namespaces too.
	for _, test := range []struct {
		namespace string
		deleted   bool
	}{{friend, false}, {mallory, true}} {
		boat(test.namespace, "keel")
		awaitUse(t, one.References(), victim+"/hull", false)
		fenced, ok, err := one.References().Unreferenced(t.Context(), references.Secret, victim, "hull")
		if err != nil || !ok {
			t.Fatal(ok, err)
		}
		boat(test.namespace, "hull")
		req := httptest.NewRequestWithContext(fenced, http.MethodDelete, "/api/v1/namespaces/"+victim+"/secrets/hull", nil)
		if answer := one.Serve(req); (answer.Code == http.StatusOK) != test.deleted {
			t.Errorf("a reference from %s: %d: %s", test.namespace, answer.Code, answer.Body)
		}
		boat(test.namespace, "keel")
	}
	if err := allowed.Delete(t.Context(), "one", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	boat(friend, "sail")
	check("the grant is gone", "sail", false)
}

// One read judges all unused objects of a namespace. A reference that is stored after the read stops the delete of its object, and no other one.
func TestReferencesOfManyObjects(t *testing.T) {
	t.Parallel()
	server := servertest.Start(t, apiserver.Config{})
	client, index := server.Cluster(t), server.References()
	const count = 10
	for i := range count {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("s-", i)}, Immutable: ptr.To(true)}
		if _, err := client.CoreV1().Secrets("default").Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range count {
		awaitUse(t, index, fmt.Sprint("default/s-", i), false)
	}
	fences := make([]context.Context, count)
	for i := range count {
		var ok bool
		var err error
		if fences[i], ok, err = index.Unreferenced(t.Context(), references.Secret, "default", fmt.Sprint("s-", i)); err != nil || !ok {
			t.Fatal(ok, err)
		}
	}
	use := func(i int) {
		applyPod(t, client, "default", yamltest.Decode[corev1.Pod](t, fmt.Sprintf(
			`{metadata: {name: p-%d}, spec: {containers: [{name: c, image: i, envFrom: [{secretRef: {name: s-%d}}]}]}}`, i, i)))
	}
	for i := range count {
		if i%2 == 0 {
			use(i)
		}
		if deleted := deleteFenced(fences[i], server, fmt.Sprint("s-", i)) == nil; deleted != (i%2 == 1) {
			t.Errorf("s-%d is deleted: %t", i, deleted)
		}
	}
}

// A definition with references that cannot be read is refused, with the line and the cause.
func TestReferencesMalformed(t *testing.T) {
	t.Parallel()
	client := servertest.Start(t, apiserver.Config{}).Cluster(t)
	definitions := client.Dynamic.Resource(crdResource)
	for text, want := range map[string]string{
		`"Secret spec.a\nPod spec.b"`:   `line 2: "Pod" is not one of ConfigMap, Secret, PodTemplate, PodSpec, Strings`,
		`"Secret"`:                      `line 1: "Secret" is not a kind and a path, as in "Secret spec.tls.secretName"`,
		`"# a\n\nSecret spec.a[0]"`:     `line 3: spec.a[0]: the place of an item in a list must be [*]`,
		`"Secret spec.a other.b"`:       `line 1: the name and the namespace must be fields of the same object`,
		`"PodSpec spec.a spec.b"`:       `line 1: PodSpec has no namespace`,
		`"Secret spec.a[\nSecret spec"`: `line 1: spec.a[: `,
		`"PodTemplate *"`:               `line 1: PodTemplate * stands for the templates of pods that the schema describes, and there is none`,
	} {
		malformed := boats(t, `{holdfast.dev/references: `+text+`}`, "Namespaced")
		_, err := definitions.Create(t.Context(), malformed, metav1.CreateOptions{})
		if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "metadata.annotations[holdfast.dev/references]: Invalid value: "+want) {
			t.Errorf("create with %s: %v, want %s", text, err, want)
		}
	}
	applyObject(t, definitions, boats(t, `{holdfast.dev/references: Secret spec.a}`, "Namespaced"))
	_, err := definitions.Patch(t.Context(), "boats.sea.example.com", types.MergePatchType,
		[]byte(`{"metadata":{"annotations":{"holdfast.dev/references":"Secret spec.a\nSecret"}}}`), metav1.PatchOptions{})
	if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), `line 2: "Secret" is not a kind and a path`) {
		t.Errorf("update: %v", err)
	}
}
