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
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/apiserver/servertest"
)

// The server that all tests share, each with namespaces of its own.
var (
	typed   kubernetes.Interface
	objects dynamic.Interface
)

func TestMain(m *testing.M) {
	os.Exit(servertest.Main(m, func(config *rest.Config) (err error) {
		if typed, err = kubernetes.NewForConfig(config); err != nil {
			return err
		}
		objects, err = dynamic.NewForConfig(config)
		return err
	}))
}

// tenant is a namespace and what a test does in it.
type tenant struct {
	testing.TB
	namespace string
}

// newTenant is a namespace with all that it is furnished with: quotas count that
// too.
func newTenant(t testing.TB) tenant {
	t.Helper()
	created, err := typed.CoreV1().Namespaces().Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "tenant-"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	n := tenant{TB: t, namespace: created.Name}
	servertest.Eventually(t, "namespace furnished", func() bool {
		_, err := typed.CoreV1().ServiceAccounts(n.namespace).Get(t.Context(), "default", metav1.GetOptions{})
		_, err2 := typed.CoreV1().ConfigMaps(n.namespace).Get(t.Context(), "kube-root-ca.crt", metav1.GetOptions{})
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

func decodeAny(t testing.TB, manifest string) *unstructured.Unstructured {
	t.Helper()
	obj := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(manifest), &obj.Object); err != nil {
		t.Fatalf("%v in %s", err, manifest)
	}
	return obj
}

// decode reads one object of which the kind alone is given.
func decode(t testing.TB, manifest string) *unstructured.Unstructured {
	t.Helper()
	obj := decodeAny(t, manifest)
	gvr, ok := resources[obj.GetKind()]
	if !ok {
		t.Fatalf("no kind in %s", manifest)
	}
	obj.SetAPIVersion(gvr.GroupVersion().String())
	return obj
}

// try creates the objects, one a line, and gives the first error.
func (n tenant) try(ctx context.Context, manifests string, options metav1.CreateOptions) error {
	n.Helper()
	for line := range strings.Lines(manifests) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		obj := decode(n, line)
		if _, err := objects.Resource(resources[obj.GetKind()]).Namespace(n.namespace).Create(ctx, obj, options); err != nil {
			return err
		}
	}
	return nil
}

func (n tenant) create(manifests string) {
	n.Helper()
	if err := n.try(n.Context(), manifests, metav1.CreateOptions{}); err != nil {
		n.Fatal(err)
	}
}

func (n tenant) delete(kind, name string) {
	n.Helper()
	zero := int64(0)
	err := objects.Resource(resources[kind]).Namespace(n.namespace).Delete(n.Context(), name, metav1.DeleteOptions{GracePeriodSeconds: &zero})
	if err != nil {
		n.Fatal(err)
	}
}

// used is what the status of the quota named quota says, as text; empty until it
// says that the limits hold.
func (n tenant) used() string {
	n.Helper()
	quota, err := typed.CoreV1().ResourceQuotas(n.namespace).Get(n.Context(), "quota", metav1.GetOptions{})
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

// waitUsed waits until the status says what is used.
func (n tenant) waitUsed(want string) {
	n.Helper()
	last := ""
	defer func() {
		if n.Failed() {
			n.Logf("used: %s", last)
		}
	}()
	servertest.Eventually(n, "used: "+want, func() bool {
		last = n.used()
		return last == want
	})
}

// hold waits until the limits of all quotas hold, and admission has seen that
// they do.
func (n tenant) hold() {
	n.Helper()
	quotas := typed.CoreV1().ResourceQuotas(n.namespace)
	written := func() bool {
		list, err := quotas.List(n.Context(), metav1.ListOptions{})
		if err != nil {
			n.Fatal(err)
		}
		return !slices.ContainsFunc(list.Items, func(quota corev1.ResourceQuota) bool {
			return len(quota.Status.Hard) != len(quota.Spec.Hard)
		})
	}
	servertest.Eventually(n, "limits in status", written)
	// Changes are seen in their order: once the last quota is known, all are.
	n.create(`{kind: ResourceQuota, metadata: {name: probe}, spec: {hard: {count/leases.coordination.k8s.io: 0}}}`)
	servertest.Eventually(n, "limits in force", func() bool {
		err := n.try(n.Context(), `{kind: Lease, metadata: {name: probe}}`, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return apierrors.IsForbidden(err)
	})
	n.delete("ResourceQuota", "probe")
}

// eventually tries until there is no error.
func (n tenant) eventually(what string, try func() error) {
	n.Helper()
	var last error
	defer func() {
		if n.Failed() {
			n.Log(last)
		}
	}()
	servertest.Eventually(n, what, func() bool {
		last = try()
		return last == nil
	})
}
