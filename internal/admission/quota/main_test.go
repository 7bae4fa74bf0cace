package quota_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/waittest"
	"holdfast.dev/holdfast/internal/yamltest"
)

// Clients of the server that all tests share. Each test has its own namespaces.
var (
	typed   kubernetes.Interface
	objects dynamic.Interface
)

func TestMain(m *testing.M) {
	os.Exit(servertest.Main(m, func(config *rest.Config) (err error) {
		if typed, err = kubernetes.NewForConfig(config); err != nil {
			return err
		}
		if objects, err = dynamic.NewForConfig(config); err != nil {
			return err
		}
		return createClasses(context.Background())
	}))
}

// createClasses creates a StorageClass with claims that may grow, and a RuntimeClass with
// pods that have an overhead.
func createClasses(ctx context.Context) error {
	expandable := true
	_, err := typed.StorageV1().StorageClasses().Create(ctx, &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{Name: "elastic"}, Provisioner: "example.com/p", AllowVolumeExpansion: &expandable,
	}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	overhead := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("10m")}
	_, err = typed.NodeV1().RuntimeClasses().Create(ctx, &nodev1.RuntimeClass{
		ObjectMeta: metav1.ObjectMeta{Name: "vm"}, Handler: "kata", Overhead: &nodev1.Overhead{PodFixed: overhead},
	}, metav1.CreateOptions{})
	return err
}

// namespace is a namespace of a test.
type namespace struct {
	testing.TB
	name string
}

// ofNewNamespace are the resource names of the objects that controllers create in a new namespace.
var ofNewNamespace = []corev1.ResourceName{"configmaps", "count/configmaps", "count/serviceaccounts"}

// newNamespace creates a namespace and waits for the objects that controllers create in
// it, because quotas count them, too.
func newNamespace(t testing.TB) namespace {
	t.Helper()
	created, err := typed.CoreV1().Namespaces().Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "quota-"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	n := namespace{TB: t, name: created.Name}
	waittest.Until(t, "default objects exist", func() bool {
		_, err := typed.CoreV1().ServiceAccounts(n.name).Get(t.Context(), "default", metav1.GetOptions{})
		_, err2 := typed.CoreV1().ConfigMaps(n.name).Get(t.Context(), "kube-root-ca.crt", metav1.GetOptions{})
		return err == nil && err2 == nil
	})
	return n
}

var resources = map[string]schema.GroupVersionResource{
	"Pod":                   corev1.SchemeGroupVersion.WithResource("pods"),
	"Service":               corev1.SchemeGroupVersion.WithResource("services"),
	"PersistentVolumeClaim": corev1.SchemeGroupVersion.WithResource("persistentvolumeclaims"),
	"ConfigMap":             corev1.SchemeGroupVersion.WithResource("configmaps"),
	"Secret":                corev1.SchemeGroupVersion.WithResource("secrets"),
	"ReplicationController": corev1.SchemeGroupVersion.WithResource("replicationcontrollers"),
	"ResourceQuota":         corev1.SchemeGroupVersion.WithResource("resourcequotas"),
	"LimitRange":            corev1.SchemeGroupVersion.WithResource("limitranges"),
	"Lease":                 {Group: "coordination.k8s.io", Version: "v1", Resource: "leases"},
	"Job":                   {Group: "batch", Version: "v1", Resource: "jobs"},
	"Widget":                {Group: "quota.example.com", Version: "v1", Resource: "widgets"},
}

var definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// withVersion decodes an object and sets its apiVersion by its kind.
func withVersion(t testing.TB, manifest string) *unstructured.Unstructured {
	t.Helper()
	obj := yamltest.Object(t, manifest)
	gvr, ok := resources[obj.GetKind()]
	if !ok {
		t.Fatalf("no kind in %s", manifest)
	}
	obj.SetAPIVersion(gvr.GroupVersion().String())
	return obj
}

// tryCreate creates the objects and returns the first error. Each manifest begins on a
// line of its own with "{kind:" and may continue on the following lines.
func (n namespace) tryCreate(ctx context.Context, manifests string, options metav1.CreateOptions) error {
	n.Helper()
	for i, manifest := range strings.Split(manifests, "{kind:") {
		if i == 0 {
			continue
		}
		obj := withVersion(n, strings.TrimSpace("{kind:"+manifest))
		if _, err := objects.Resource(resources[obj.GetKind()]).Namespace(n.name).Create(ctx, obj, options); err != nil {
			return err
		}
	}
	return nil
}

// create creates the objects like tryCreate and fails the test on an error.
func (n namespace) create(manifests string) {
	n.Helper()
	if err := n.tryCreate(n.Context(), manifests, metav1.CreateOptions{}); err != nil {
		n.Fatal(err)
	}
}

// createClaim creates a claim that may grow: it is bound, and its class allows it.
func (n namespace) createClaim(name, storage string) {
	n.Helper()
	n.create(`{kind: PersistentVolumeClaim, metadata: {name: ` + name + `}, spec: {accessModes: [ReadWriteOnce],
		storageClassName: elastic, resources: {requests: {storage: ` + storage + `}}}}`)
	n.patch("PersistentVolumeClaim", name, `{"status": {"phase": "Bound"}}`, "status")
}

func (n namespace) delete(kind, name string) {
	n.Helper()
	immediately := metav1.DeleteOptions{GracePeriodSeconds: new(int64)}
	if err := objects.Resource(resources[kind]).Namespace(n.name).Delete(n.Context(), name, immediately); err != nil {
		n.Fatal(err)
	}
}

// used returns the usage in the status of the quota named quota, as text. It returns ""
// until the status has all limits.
func (n namespace) used() string {
	n.Helper()
	quota, err := typed.CoreV1().ResourceQuotas(n.name).Get(n.Context(), "quota", metav1.GetOptions{})
	if err != nil {
		n.Fatal(err)
	}
	if len(quota.Status.Hard) == 0 || len(quota.Status.Hard) != len(quota.Spec.Hard) {
		return ""
	}
	var all []string
	for _, name := range slices.Sorted(maps.Keys(quota.Status.Used)) {
		quantity := quota.Status.Used[name]
		all = append(all, fmt.Sprintf("%s=%s", name, quantity.String()))
	}
	return strings.Join(all, " ")
}

// waitUsed waits until the status has this usage.
func (n namespace) waitUsed(want string) {
	n.Helper()
	waittest.Until(n, "used: "+want, func() error {
		if used := n.used(); used != want {
			return fmt.Errorf("used: %s", used)
		}
		return nil
	})
}

// withoutUsage is a resource name that no kind has usage under.
const withoutUsage = "example.com/nothing"

// isWritten reports whether the status of a quota has all limits and their usage. The controller
// writes the limits first while it does not know the number of objects of a kind. Until it does,
// admission rejects these objects. The controller may also see the objects of newNamespace late.
func isWritten(quota corev1.ResourceQuota) bool {
	for name := range quota.Spec.Hard {
		_, limited := quota.Status.Hard[name]
		used, known := quota.Status.Used[name]
		exists := len(quota.Spec.Scopes) == 0 && slices.Contains(ofNewNamespace, name)
		if !limited || !known && name != withoutUsage || exists && used.IsZero() {
			return false
		}
	}
	return true
}

// waitEnforced waits until the status of all quotas has their limits and usage, and admission
// enforces them.
func (n namespace) waitEnforced() {
	n.Helper()
	quotas := typed.CoreV1().ResourceQuotas(n.name)
	written := func() bool {
		list, err := quotas.List(n.Context(), metav1.ListOptions{})
		if err != nil {
			n.Fatal(err)
		}
		return !slices.ContainsFunc(list.Items, func(quota corev1.ResourceQuota) bool { return !isWritten(quota) })
	}
	waittest.Until(n, "the status has the limits and the usage", written)
	// Admission sees quotas in the order of their creation. When it enforces the last
	// one, it enforces all.
	n.create(`{kind: ResourceQuota, metadata: {name: probe}, spec: {hard: {count/leases.coordination.k8s.io: 0}}}`)
	waittest.Until(n, "the limits are enforced", func() bool {
		err := n.tryCreate(n.Context(), `{kind: Lease, metadata: {name: probe}}`, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return apierrors.IsForbidden(err)
	})
	n.delete("ResourceQuota", "probe")
}
