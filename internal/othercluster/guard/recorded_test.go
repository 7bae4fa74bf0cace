package guard_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/yamltest"
)

// recording is a review that a kube-apiserver has sent to the guard. "make compare WHAT=guard-reviews" records them.
type recording struct {
	// Stored is the object before the write.
	Stored   *unstructured.Unstructured
	Request  *admissionv1.AdmissionRequest
	Response *admissionv1.AdmissionResponse
}

// TestRecorded replays the reviews of a real kube-apiserver. The guard must answer as it did then, and our server must
// answer the same to the same update, byte for byte.
func TestRecorded(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/reviews/*.json")
	if err != nil || len(files) < 30 {
		t.Fatalf("%d recorded reviews, %v", len(files), err)
	}
	definition, err := os.ReadFile("testdata/reviews/definition.yaml")
	if err != nil {
		t.Fatal(err)
	}
	f := start(t)
	f.run()
	f.create(definitions, string(definition))
	f.create("clusterroles.v1.rbac.authorization.k8s.io", `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, `+
		`metadata: {name: writer}, rules: [{apiGroups: [example.com], verbs: [update], resources: [ships, ships/status, ships/scale]}]}`)
	f.create("clusterrolebindings.v1.rbac.authorization.k8s.io", `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, `+
		`metadata: {name: writer}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: writer}, `+
		`subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: writer}]}`)
	f.guarded("ships/scale")
	servertest.AwaitRight(t, f.server.Client(t), "writer", authorizationv1.ResourceAttributes{
		Namespace: "default", Verb: "update", Group: "example.com", Resource: "ships",
	})
	refused := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		recorded := *yamltest.Known[recording](t, text)
		f.restore(&recorded)
		answered := f.ask(recorded.Request)
		if diff := cmp.Diff(statusOf(f.T, recorded.Response), statusOf(f.T, answered)); diff != "" {
			t.Errorf("%s (-recorded +guard):\n%s", file, diff)
		}
		if diff := cmp.Diff(f.decide(recorded.Request), statusOf(f.T, answered)); diff != "" {
			t.Errorf("%s (-server +guard):\n%s", file, diff)
		}
		if !answered.Allowed {
			refused++
		}
	}
	if refused < 20 || refused == len(files) {
		t.Errorf("%d of %d reviews were refused", refused, len(files))
	}
}

// restore creates the object of a review, and puts its identity into the review.
func (f *fixture) restore(r *recording) {
	f.Helper()
	objects := f.of("default/ships.v1.example.com")
	name := r.Stored.GetName()
	if err := objects.Delete(f.Context(), name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		f.Fatal(err)
	}
	wanted := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": r.Stored.GetAPIVersion(), "kind": r.Stored.GetKind(),
		"metadata": map[string]any{"name": name}, "spec": r.Stored.Object["spec"],
	}}
	created, err := objects.Create(f.Context(), wanted, metav1.CreateOptions{})
	if err != nil {
		f.Fatal(err)
	}
	created.Object["status"] = r.Stored.Object["status"]
	if created, err = objects.UpdateStatus(f.Context(), created, metav1.UpdateOptions{}); err != nil {
		f.Fatal(err)
	}
	for _, raw := range []*runtime.RawExtension{&r.Request.OldObject, &r.Request.Object} {
		obj := f.object(raw.Raw)
		obj.SetUID(created.GetUID())
		obj.SetResourceVersion(created.GetResourceVersion())
		raw.Raw = encode(f.T, obj.Object)
	}
	if result := r.Response.Result; result != nil && result.Details != nil {
		result.Details.UID = created.GetUID()
	}
}

func (f *fixture) object(text []byte) *unstructured.Unstructured {
	f.Helper()
	obj := &unstructured.Unstructured{}
	if err := obj.UnmarshalJSON(text); err != nil {
		f.Fatal(err)
	}
	return obj
}

// decide sends the update of a review to our server, as a dry run of the same user. It returns the Status of a
// refusal as JSON.
func (f *fixture) decide(request *admissionv1.AdmissionRequest) string {
	f.Helper()
	config := f.server.Config(f.T)
	config.Impersonate = rest.ImpersonationConfig{UserName: request.UserInfo.Username, Groups: request.UserInfo.Groups}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		f.Fatal(err)
	}
	at := client.Resource(schema.GroupVersionResource(request.Resource)).Namespace(request.Namespace)
	subresources := strings.Fields(request.SubResource)
	_, err = at.Update(f.Context(), f.object(request.Object.Raw), metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}}, subresources...)
	if err == nil {
		return ""
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		f.Fatal(err)
	}
	return string(encode(f.T, withoutType(status.Status())))
}
