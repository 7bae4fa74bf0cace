package controller_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"

	"holdfast.dev/holdfast/api"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/waittest"
	"holdfast.dev/holdfast/internal/yamltest"
)

// shared is the client config of the administrator of the server that most tests share.
var shared *rest.Config

func TestMain(m *testing.M) {
	os.Exit(servertest.Main(m, func(config *rest.Config) error {
		shared = config
		return nil
	}))
}

// cluster holds the clients of one user for one namespace of a server.
type cluster struct {
	servertest.Cluster
	// admin is the client config of the administrator.
	admin *rest.Config
}

// start returns the clients of the administrator for a new namespace of the shared server.
func start(t *testing.T) cluster {
	t.Helper()
	c := cluster{Cluster: servertest.NewCluster(shared), admin: shared}
	c.Namespace = servertest.CreateNamespace(t, c, "test-")
	return c
}

// login returns the clients of the user of a config for the same namespace.
func (c cluster) login(user *rest.Config) cluster {
	other := cluster{Cluster: servertest.NewCluster(user), admin: c.admin}
	other.Namespace = c.Namespace
	return other
}

// as returns the clients of another user, with some groups.
func (c cluster) as(user string, groups ...string) cluster {
	return c.login(c.impersonating(rest.ImpersonationConfig{UserName: user, Groups: append(groups, "system:authenticated")}))
}

// impersonating returns the client config of the administrator, impersonating a user.
func (c cluster) impersonating(user rest.ImpersonationConfig) *rest.Config {
	config := rest.CopyConfig(c.admin)
	config.Impersonate = user
	return config
}

// kudo returns a client for a resource of kudo.dev.
func (c cluster) kudo(resource string) dynamic.ResourceInterface {
	return c.Dynamic.Resource(api.GroupVersion.WithResource(resource)).Namespace(c.Namespace)
}

// create creates an object of kudo.dev, which is YAML text or a Go value.
func (c cluster) create(t *testing.T, resource string, object any) error {
	t.Helper()
	var content map[string]any
	if text, isText := object.(string); isText {
		content = yamltest.Map(t, text)
	} else {
		var err error
		if content, err = runtime.DefaultUnstructuredConverter.ToUnstructured(object); err != nil {
			t.Fatal(err)
		}
	}
	created := &unstructured.Unstructured{Object: content}
	created.SetAPIVersion(api.GroupVersion.String())
	created.SetKind(map[string]string{"operators": "Operator", "operatorversions": "OperatorVersion", "instances": "Instance"}[resource])
	_, err := c.kudo(resource).Create(t.Context(), created, metav1.CreateOptions{})
	return err
}

func (c cluster) mustCreate(t *testing.T, resource string, object any) {
	t.Helper()
	if err := c.create(t, resource, object); err != nil {
		t.Fatal(err)
	}
}

// operator creates the OperatorVersion NAME-VERSION. The rest of its spec is YAML.
func (c cluster) operator(t *testing.T, name, version, spec string) {
	t.Helper()
	object := &api.OperatorVersion{}
	yamltest.Into(t, spec, &object.Spec)
	object.Name, object.Spec.Operator.Name, object.Spec.Version = name+"-"+version, name, version
	c.mustCreate(t, "operatorversions", object)
}

// install creates an Instance of an operator version.
func (c cluster) install(t *testing.T, name, version string, values map[string]string) {
	t.Helper()
	c.mustCreate(t, "instances", &api.Instance{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       api.InstanceSpec{OperatorVersion: corev1.ObjectReference{Name: version}, Parameters: values},
	})
}

func (c cluster) instance(t *testing.T, name string) *api.Instance {
	t.Helper()
	found, err := c.kudo("instances").Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	instance := &api.Instance{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(found.Object, instance); err != nil {
		t.Fatal(err)
	}
	return instance
}

// change reads an Instance, changes and updates it, and retries conflicts.
func (c cluster) change(t *testing.T, name string, change func(*api.Instance)) error {
	t.Helper()
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		instance := c.instance(t, name)
		change(instance)
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(instance)
		if err != nil {
			return err
		}
		_, err = c.kudo("instances").Update(t.Context(), &unstructured.Unstructured{Object: content}, metav1.UpdateOptions{})
		return err
	})
}

// awaitEnd waits until no plan of an Instance is running and returns the Ready condition.
func (c cluster) awaitEnd(t *testing.T, name string) metav1.Condition {
	t.Helper()
	var ready metav1.Condition
	waittest.Until(t, "the plan of "+name+" has ended", func() error {
		instance := c.instance(t, name)
		for _, condition := range instance.Status.Conditions {
			ready = condition
		}
		if plan := instance.Spec.PlanExecution.PlanName; plan != "" || !api.State(ready.Reason).Ended() {
			return fmt.Errorf("plan %q, %s: %s", plan, ready.Reason, ready.Message)
		}
		return nil
	})
	return ready
}

// awaitComplete waits until the plan of an Instance has ended and fails the test if it is
// not complete.
func (c cluster) awaitComplete(t *testing.T, name string) {
	t.Helper()
	if ready := c.awaitEnd(t, name); ready.Reason != string(api.Complete) {
		t.Fatalf("%s: %s: %s", name, ready.Reason, ready.Message)
	}
}

// awaitMessage waits until a condition of an Instance contains a message.
func (c cluster) awaitMessage(t *testing.T, name, message string) {
	t.Helper()
	waittest.Until(t, name+" says "+message, func() error {
		conditions := c.instance(t, name).Status.Conditions
		for _, condition := range conditions {
			if strings.Contains(condition.Message, message) {
				return nil
			}
		}
		return fmt.Errorf("conditions %v", conditions)
	})
}

// resource returns a client for a resource of a built-in kind, given as group/resource.
func (c cluster) resource(resource string) dynamic.ResourceInterface {
	group, name, found := strings.Cut(resource, "/")
	if !found {
		group, name = "", resource
	}
	if name == "clusterroles" || name == "clusterrolebindings" {
		return c.Dynamic.Resource(schema.GroupVersionResource{Group: group, Version: "v1", Resource: name})
	}
	return c.Dynamic.Resource(schema.GroupVersionResource{Group: group, Version: "v1", Resource: name}).Namespace(c.Namespace)
}

// get returns an object of a built-in kind, nil if there is none.
func (c cluster) get(t *testing.T, resource, name string) *unstructured.Unstructured {
	t.Helper()
	found, err := c.resource(resource).Get(t.Context(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// keep creates a ConfigMap that belongs to an Instance and to another object. The garbage
// collector does not delete it with the Instance.
func (c cluster) keep(t *testing.T, name, instance string) {
	t.Helper()
	objects := c.CoreV1().ConfigMaps(c.Namespace)
	keeper, err := objects.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name + "-keeper"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	kept := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: []metav1.OwnerReference{
		{APIVersion: "v1", Kind: "ConfigMap", Name: keeper.Name, UID: keeper.UID},
		{APIVersion: api.GroupVersion.String(), Kind: "Instance", Name: instance, UID: c.instance(t, instance).UID},
	}}}
	if _, err := objects.Create(t.Context(), kept, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// awaitObject waits until an object exists.
func (c cluster) awaitObject(t *testing.T, resource, name string) {
	t.Helper()
	waittest.Until(t, resource+" "+name, func() bool { return c.get(t, resource, name) != nil })
}
