package controller_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/api"
	"holdfast.dev/holdfast/internal/connection"
	"holdfast.dev/holdfast/internal/lifecycle/garbage"
	"holdfast.dev/holdfast/internal/operator/controller"
	"holdfast.dev/holdfast/internal/pasttest"
)

// sized is an operator with a parameter, and with a plan for the deletion of an Instance. The owner of the object "extra" is the Instance,
// and the cleanup deletes it before.
const sized = `
parameters: [{name: SIZE, default: "1"}]
templates:
  settings.yaml: "{apiVersion: v1, kind: ConfigMap, metadata: {name: '{{ .Name }}-settings'}, data: {size: '{{ .Params.SIZE }}'}}"
  extra.yaml: "{apiVersion: v1, kind: ConfigMap, metadata: {name: '{{ .Name }}-extra'}, data: {size: '{{ .Params.SIZE }}'}}"
tasks:
- {name: settings, kind: Apply, spec: {resources: [settings.yaml]}}
- {name: extra, kind: Apply, spec: {resources: [extra.yaml]}}
- {name: forget, kind: Delete, spec: {resources: [extra.yaml]}}
plans:
  deploy: {phases: [{name: main, steps: [{name: first, tasks: [settings]}, {name: second, tasks: [extra]}]}]}
  cleanup: {phases: [{name: main, steps: [{name: forget, tasks: [forget]}]}]}
`

// TestSoakPast shows the controller, and the garbage collector beside it, the past while users install Instances, change them, delete them and
// install others of the same name.
func TestSoakPast(t *testing.T) {
	t.Parallel()
	c := startWithoutControllers(t)
	pasttest.Run(t, pasttest.Scenario{
		Client: c.Config, Controller: c.runPlans,
		Script: func(t *testing.T, run string) pasttest.Script {
			c := c
			c.Namespace = run
			if _, err := c.CoreV1().Namespaces().Create(t.Context(),
				&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: run}}, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			c.operator(t, "sized", "0.1.0", sized)
			return c.instances(t)
		},
	})
}

// runPlans runs the controller and the garbage collector until ctx ends.
func (c cluster) runPlans(ctx context.Context, config *rest.Config) {
	server, err := connection.Open(config, connection.Options{UserAgent: "test", ReplacementsAsChanges: true})
	if err != nil {
		panic(err)
	}
	defer server.Close()
	var running sync.WaitGroup
	running.Go(func() { garbage.Run(ctx, garbage.Config{Metadata: server.Metadata, Discovery: server.Discovery}) })
	if err := controller.Run(ctx, c.controllerConfig(config)); err != nil {
		panic(err)
	}
	<-ctx.Done()
	running.Wait()
}

func (c cluster) instances(t *testing.T) pasttest.Script {
	once := func(name string, try func() error) pasttest.Step {
		done := false
		return pasttest.Step{Name: name, Wait: func(context.Context) error {
			if done {
				return nil
			}
			err := try()
			done = err == nil
			return err
		}}
	}
	install := func(name, size string) pasttest.Step {
		return once("install "+name+" with "+size, func() error {
			return c.create(t, "instances", &api.Instance{
				ObjectMeta: metav1.ObjectMeta{Name: name},
				Spec: api.InstanceSpec{
					OperatorVersion: corev1.ObjectReference{Name: "sized-0.1.0"}, Parameters: map[string]string{"SIZE": size},
				},
			})
		})
	}
	set := func(name, size string) pasttest.Step {
		return once("set "+name+" to "+size, func() error {
			return c.change(t, name, func(instance *api.Instance) { instance.Spec.Parameters = map[string]string{"SIZE": size} })
		})
	}
	remove := func(name string) pasttest.Step {
		return pasttest.Step{Name: "delete " + name, Write: func(ctx context.Context) error {
			return c.kudo("instances").Delete(ctx, name, metav1.DeleteOptions{})
		}}
	}
	complete := func(name, size string) pasttest.Step {
		return pasttest.Step{Name: name + " is complete with " + size, Wait: func(ctx context.Context) error {
			got, err := c.summary(ctx, name)
			if want := summary(name, size); err == nil && got != want {
				err = errors.New(got)
			}
			return err
		}}
	}
	gone := func(name string) pasttest.Step {
		return pasttest.Step{Name: name + " is gone", Wait: func(ctx context.Context) error {
			_, err := c.kudo("instances").Get(ctx, name, metav1.GetOptions{})
			if apierrors.IsNotFound(err) {
				return nil
			}
			return fmt.Errorf("it exists (%w)", err)
		}}
	}
	return pasttest.Script{
		Steps: []pasttest.Step{
			install("web", "1"), install("api", "1"), complete("web", "1"), set("web", "2"), remove("api"), gone("api"), install("api", "3"),
			complete("web", "2"), set("web", "4"), complete("api", "3"), remove("api"), install("api", "5"), set("web", "6"),
		},
		State: func(ctx context.Context) (string, error) {
			web, err := c.summary(ctx, "web")
			if err != nil {
				return "", err
			}
			other, err := c.summary(ctx, "api")
			return web + other, err
		},
		Want: summary("web", "6") + summary("api", "5"),
		Last: []pasttest.Step{install("last", "1"), complete("last", "1"), remove("last"), gone("last")},
	}
}

// summary is what an Instance with a complete plan looks like.
func summary(name, size string) string {
	return fmt.Sprintf("%s: plan %q deploy COMPLETE, settings %s owned true, extra %s owned true\n", name, "", size, size)
}

// summary describes an Instance and its objects.
func (c cluster) summary(ctx context.Context, name string) (string, error) {
	instance, err := c.kudo("instances").Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	plan, _, _ := unstructured.NestedString(instance.Object, "spec", "planExecution", "planName")
	state, _, _ := unstructured.NestedString(instance.Object, "status", "planStatus", "deploy", "status")
	text := fmt.Sprintf("%s: plan %q deploy %s", name, plan, state)
	for _, suffix := range []string{"settings", "extra"} {
		found, err := c.CoreV1().ConfigMaps(c.Namespace).Get(ctx, name+"-"+suffix, metav1.GetOptions{})
		if err != nil {
			return "", err
		}
		owned := len(found.OwnerReferences) == 1 && found.OwnerReferences[0].UID == instance.GetUID() && found.DeletionTimestamp == nil
		text += fmt.Sprintf(", %s %s owned %t", suffix, found.Data["size"], owned)
	}
	return text + "\n", nil
}
