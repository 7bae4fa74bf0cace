package helm_test

import (
	"slices"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"

	"holdfast.dev/holdfast/internal/apiserver/servertest"
)

// always are the objects of every revision of the release.
var always = []string{
	"ConfigMap/shop", "CronJob/shop", "Deployment/shop", "Ingress/shop", "NetworkPolicy/shop", "PodDisruptionBudget/shop",
	"Role/shop", "RoleBinding/shop", "Secret/shop", "Service/shop", "ServiceAccount/shop", "StatefulSet/shop-db",
}

// state is the state of a namespace with a release.
type state struct {
	// Objects are the objects of all kinds with the label of the release.
	Objects      []string
	Color, Image string
	Replicas     int32
	Port         int32
	// Hook is the revision in the object that the hook of the last operation made.
	Hook string
}

// cluster reads the objects of a namespace.
type cluster struct {
	servertest.Cluster
	metadata metadata.Interface
}

// read returns a cluster for the kubeconfig of a server.
func read(t *testing.T, kubeconfig, namespace string) cluster {
	t.Helper()
	c := cluster{Cluster: servertest.NewCluster(servertest.Config(t, kubeconfig))}
	c.Namespace = namespace
	var err error
	if c.metadata, err = metadata.NewForConfig(c.Config); err != nil {
		t.Fatal(err)
	}
	return c
}

func (c cluster) state(t *testing.T) state {
	t.Helper()
	found := state{Objects: c.objects(t)}
	get := metav1.GetOptions{}
	configMap, err := c.CoreV1().ConfigMaps(c.Namespace).Get(t.Context(), "shop", get)
	if there(t, err) {
		found.Color = configMap.Data["color"]
	}
	hook, err := c.CoreV1().ConfigMaps(c.Namespace).Get(t.Context(), "shop-before", get)
	if there(t, err) {
		found.Hook = hook.Data["revision"]
	}
	deployment, err := c.AppsV1().Deployments(c.Namespace).Get(t.Context(), "shop", get)
	if there(t, err) {
		found.Replicas, found.Image = *deployment.Spec.Replicas, deployment.Spec.Template.Spec.Containers[0].Image
	}
	service, err := c.CoreV1().Services(c.Namespace).Get(t.Context(), "shop", get)
	if there(t, err) {
		found.Port = service.Spec.Ports[0].Port
	}
	return found
}

// objects lists the objects of the release, of every kind that can be listed.
func (c cluster) objects(t *testing.T) []string {
	t.Helper()
	lists, err := c.Discovery().ServerPreferredNamespacedResources()
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	kinds, err := discovery.GroupVersionResources(discovery.FilteredBy(discovery.SupportsAllVerbs{Verbs: []string{"list"}}, lists))
	if err != nil {
		t.Fatal(err)
	}
	for kind := range kinds {
		ofRelease := metav1.ListOptions{LabelSelector: "app.kubernetes.io/instance=shop"}
		list, err := c.metadata.Resource(kind).Namespace(c.Namespace).List(t.Context(), ofRelease)
		if err != nil {
			t.Fatalf("list %s: %v", kind.Resource, err)
		}
		for _, item := range list.Items {
			if item.Annotations["meta.helm.sh/release-name"] != "shop" {
				t.Errorf("%s %s is not annotated with its release", kind.Resource, item.Name)
			}
			found = append(found, kindOf(lists, kind.Resource)+"/"+item.Name)
		}
	}
	slices.Sort(found)
	return found
}

// releases lists the Secrets in which Helm stores releases.
func (c cluster) releases(t *testing.T) []string {
	t.Helper()
	secrets, err := c.CoreV1().Secrets(c.Namespace).List(t.Context(), metav1.ListOptions{
		LabelSelector: "owner=helm", FieldSelector: "type=helm.sh/release.v1",
	})
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, secret := range secrets.Items {
		found = append(found, secret.Name)
	}
	return found
}

func kindOf(lists []*metav1.APIResourceList, resource string) string {
	for _, list := range lists {
		for _, served := range list.APIResources {
			if served.Name == resource {
				return served.Kind
			}
		}
	}
	return resource
}

// there reports whether a read found the object. Errors other than NotFound fail
// the test.
func there(t *testing.T, err error) bool {
	t.Helper()
	if err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	return err == nil
}
