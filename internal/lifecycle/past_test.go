package lifecycle_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/internal/lifecycle"
	"holdfast.dev/holdfast/internal/pasttest"
)

// past has the steps of users in the scenarios of this package.
type past struct{ cluster }

// runSelected returns a function that runs some controllers.
func runSelected(config lifecycle.Config, controllers ...string) func(context.Context, *rest.Config) {
	config.Controllers = controllers
	return func(ctx context.Context, client *rest.Config) {
		config := config
		config.Client = client
		if err := lifecycle.RunLeading(ctx, config); err != nil {
			panic(err)
		}
	}
}

// create returns a step that creates an object. If one of this name is still being deleted, or the usage of a new quota is not known, the step waits.
func (p past) create(resource schema.GroupVersionResource, namespace string, object map[string]any) pasttest.Step {
	obj := &unstructured.Unstructured{Object: object}
	done := false
	try := func(ctx context.Context) error {
		if done {
			return nil
		}
		_, err := p.Dynamic.Resource(resource).Namespace(namespace).Create(ctx, obj.DeepCopy(), metav1.CreateOptions{})
		done = err == nil
		return err
	}
	return pasttest.Step{
		Name: fmt.Sprintf("create %s %s/%s", resource.Resource, namespace, obj.GetName()), Wait: try,
		Write: func(ctx context.Context) error {
			if err := try(ctx); err != nil && !apierrors.IsAlreadyExists(err) && !strings.Contains(err.Error(), "status unknown for quota") {
				return err
			}
			return nil
		},
	}
}

// delete returns a step that deletes an object, if it exists.
func (p past) delete(resource schema.GroupVersionResource, namespace, name string, grace *int64) pasttest.Step {
	return pasttest.Step{
		Name: fmt.Sprintf("delete %s %s/%s", resource.Resource, namespace, name),
		Write: func(ctx context.Context) error {
			return ignoreMissing(p.Dynamic.Resource(resource).Namespace(namespace).Delete(ctx, name, metav1.DeleteOptions{GracePeriodSeconds: grace}))
		},
	}
}

// gone returns a step that waits until an object does not exist.
func (p past) gone(resource schema.GroupVersionResource, namespace, name string) pasttest.Step {
	return pasttest.Step{
		Name: fmt.Sprintf("%s %s/%s is gone", resource.Resource, namespace, name),
		Wait: func(ctx context.Context) error {
			_, err := p.Dynamic.Resource(resource).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
			if err == nil {
				return errors.New("it exists")
			}
			return ignoreMissing(err)
		},
	}
}

// names returns the names of the objects of a resource in a namespace.
func (p past) names(ctx context.Context, resource schema.GroupVersionResource, namespace string) (string, error) {
	list, err := p.Dynamic.Resource(resource).Namespace(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return "", err
	}
	var names []string
	for _, item := range list.Items {
		names = append(names, item.GetName())
	}
	slices.Sort(names)
	return resource.Resource + ": " + strings.Join(names, " "), nil
}

func ignoreMissing(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

var (
	coreNamespaces = corev1.SchemeGroupVersion.WithResource("namespaces")
	coreConfigMaps = corev1.SchemeGroupVersion.WithResource("configmaps")
	coreSecrets    = corev1.SchemeGroupVersion.WithResource("secrets")
	coreServices   = corev1.SchemeGroupVersion.WithResource("services")
	coreClaims     = corev1.SchemeGroupVersion.WithResource("persistentvolumeclaims")
	coreQuotas     = corev1.SchemeGroupVersion.WithResource("resourcequotas")
	coreAccounts   = corev1.SchemeGroupVersion.WithResource("serviceaccounts")
	coreNodes      = corev1.SchemeGroupVersion.WithResource("nodes")
	corePods       = corev1.SchemeGroupVersion.WithResource("pods")
)

// object returns an object of the core group.
func object(kind, name string, fields map[string]any) map[string]any {
	obj := map[string]any{"apiVersion": "v1", "kind": kind, "metadata": map[string]any{"name": name}}
	maps.Copy(obj, fields)
	return obj
}

// TestSoakPastNamespaces shows the controller of namespaces the past while users delete namespaces and create them again with new content.
func TestSoakPastNamespaces(t *testing.T) {
	t.Parallel()
	p := past{startLedBy(t, "test")}
	pasttest.Run(t, pasttest.Scenario{
		Client: p.Config, Controller: runSelected(lifecycle.Config{}, lifecycle.Namespaces),
		Script: func(_ *testing.T, run string) pasttest.Script { return p.namespaces(run) },
	})
}

func (p past) namespaces(run string) pasttest.Script {
	shop, held, last := run+"-shop", run+"-held", run+"-last"
	namespace := func(name string) pasttest.Step { return p.create(coreNamespaces, "", object("Namespace", name, nil)) }
	configMap := func(in, name string) pasttest.Step {
		return p.create(coreConfigMaps, in, object("ConfigMap", name, nil))
	}
	finalizer := func(value string) pasttest.Step {
		return pasttest.Step{Name: "finalizers " + value, Write: func(ctx context.Context) error {
			_, err := p.CoreV1().ConfigMaps(held).Patch(ctx, "held", types.MergePatchType, []byte(`{"metadata":{"finalizers":`+value+`}}`), metav1.PatchOptions{})
			return err
		}}
	}
	return pasttest.Script{
		Steps: []pasttest.Step{
			namespace(shop), configMap(shop, "settings"), p.create(coreSecrets, shop, object("Secret", "key", nil)),
			p.delete(coreNamespaces, "", shop, nil), p.gone(coreNamespaces, "", shop),
			namespace(shop), configMap(shop, "settings"), p.create(coreSecrets, shop, object("Secret", "key", nil)),
			namespace(held), configMap(held, "held"), finalizer(`["example.com/held"]`), configMap(held, "free"),
			p.delete(coreNamespaces, "", held, nil), configMap(shop, "more"), finalizer("[]"), p.gone(coreNamespaces, "", held),
			namespace(held), configMap(held, "held"),
		},
		State: func(ctx context.Context) (string, error) {
			var text string
			for _, name := range []string{shop, held} {
				found, err := p.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
				if err != nil {
					return "", err
				}
				text += strings.TrimPrefix(name, run) + " " + string(found.Status.Phase) + "\n"
				for _, resource := range []schema.GroupVersionResource{coreConfigMaps, coreSecrets} {
					line, err := p.names(ctx, resource, name)
					if err != nil {
						return "", err
					}
					text += line + "\n"
				}
			}
			return text, nil
		},
		Want: "-shop Active\nconfigmaps: more settings\nsecrets: key\n-held Active\nconfigmaps: held\nsecrets: \n",
		Last: []pasttest.Step{
			namespace(last), configMap(last, "settings"), p.delete(coreNamespaces, "", last, nil), p.gone(coreNamespaces, "", last),
		},
	}
}

// TestSoakPastPerNamespace shows the controllers of default service accounts and root CAs the past while users delete and change what these
// controllers create.
func TestSoakPastPerNamespace(t *testing.T) {
	t.Parallel()
	p := past{startLedBy(t, "test")}
	pasttest.Run(t, pasttest.Scenario{
		Client: p.Config, Controller: runSelected(lifecycle.Config{RootCA: []byte("root")}, lifecycle.Accounts, lifecycle.RootCAs),
		Script: func(_ *testing.T, run string) pasttest.Script { return p.perNamespace(run) },
	})
}

func (p past) perNamespace(run string) pasttest.Script {
	const ca = "kube-root-ca.crt"
	first, second := run+"-first", run+"-second"
	namespace := func(name string) pasttest.Step { return p.create(coreNamespaces, "", object("Namespace", name, nil)) }
	state := func(ctx context.Context, namespace string) (string, error) {
		found, err := p.CoreV1().ConfigMaps(namespace).Get(ctx, ca, metav1.GetOptions{})
		if err != nil {
			return "", err
		}
		accounts, err := p.names(ctx, coreAccounts, namespace)
		return fmt.Sprintf("%s %s %v\n", strings.TrimPrefix(namespace, run), accounts, found.Data), err
	}
	has := func(name string) pasttest.Step {
		return pasttest.Step{Name: name + " is complete", Wait: func(ctx context.Context) error {
			_, err := p.CoreV1().ServiceAccounts(name).Get(ctx, "default", metav1.GetOptions{})
			if err == nil {
				_, err = state(ctx, name)
			}
			return err
		}}
	}
	wrong := pasttest.Step{Name: "wrong CA", Write: func(ctx context.Context) error {
		_, err := p.CoreV1().ConfigMaps(first).Patch(ctx, ca, types.MergePatchType, []byte(`{"data":{"ca.crt":"wrong"}}`), metav1.PatchOptions{})
		return ignoreMissing(err)
	}}
	return pasttest.Script{
		Steps: []pasttest.Step{
			namespace(first), p.delete(coreAccounts, first, "default", nil), p.delete(coreConfigMaps, first, ca, nil), has(first),
			namespace(second), p.delete(coreAccounts, first, "default", nil), wrong, has(second), p.delete(coreConfigMaps, second, ca, nil),
			p.create(coreConfigMaps, second, object("ConfigMap", "other", nil)), p.delete(coreAccounts, second, "default", nil), has(first),
			p.delete(coreConfigMaps, first, ca, nil), p.create(coreConfigMaps, first, object("ConfigMap", "other", nil)),
		},
		State: func(ctx context.Context) (string, error) {
			one, err := state(ctx, first)
			if err != nil {
				return "", err
			}
			two, err := state(ctx, second)
			return one + two, err
		},
		Want: "-first serviceaccounts: default map[ca.crt:root]\n-second serviceaccounts: default map[ca.crt:root]\n",
		Last: []pasttest.Step{namespace(run + "-last"), has(run + "-last")},
	}
}
