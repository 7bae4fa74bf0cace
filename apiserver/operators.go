package apiserver

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/admission"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/client-go/dynamic"
	restclient "k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"
	"k8s.io/klog/v2"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/apiserver/definitions"
	"holdfast.dev/holdfast/apiserver/disclosure"
	"holdfast.dev/holdfast/definition"
	"holdfast.dev/holdfast/operator/api"
	"holdfast.dev/holdfast/operator/controller"
	"holdfast.dev/holdfast/operator/enforcement"
)

// newOperatorAdmission returns the plugin with the rules of operator packages.
func newOperatorAdmission(client dynamic.Interface) admission.Interface {
	discloses := func(ctx context.Context, _ api.Requester, _ types.NamespacedName) bool {
		return disclosure.Allowed(ctx)
	}
	return enforcement.NewPlugin(enforcement.LiveVersions(client), discloses)
}

// addOperatorKinds creates the definitions of the kinds of operator packages, and closes
// served when the server serves them. Every server does it when it starts, and writes only
// what differs. If a write is refused, the start continues, and attemptAll retries the
// write.
func addOperatorKinds(h *hooks, client dynamic.Interface, served chan<- struct{}) error {
	texts, err := api.CustomResourceDefinitions()
	if err != nil {
		return err
	}
	return h.onStart(api.BuiltInHook, func(hook genericapiserver.PostStartHookContext) error {
		attemptAll(hook, attempt{"definitions of operator packages", func(ctx context.Context) error {
			for _, text := range texts {
				if err := defineKind(ctx, client, text); err != nil {
					return err
				}
			}
			if err := waitForOperatorKinds(ctx, client); err != nil {
				return fmt.Errorf("wait until the kinds are served: %w", err)
			}
			close(served)
			return nil
		}})
		return nil
	})
}

// waitForOperatorKinds waits until the server serves the kinds of operator packages.
func waitForOperatorKinds(ctx context.Context, client dynamic.Interface) error {
	return wait.PollUntilContextCancel(ctx, readyPoll, true, func(ctx context.Context) (bool, error) {
		for _, resource := range []string{"operators", "operatorversions", "instances"} {
			_, err := client.Resource(api.GroupVersion.WithResource(resource)).List(ctx, metav1.ListOptions{Limit: 1})
			if err != nil {
				return false, nil //nolint:nilerr // it is not served yet
			}
		}
		return true, nil
	})
}

// runOperators runs the plans of Instances, once their kinds are served. The server runs no
// workload controllers, so the plans do not wait for an object if no controller has ever
// set its status.
func runOperators(ctx context.Context, loopback *restclient.Config, kinds <-chan struct{}) {
	select {
	case <-kinds:
	case <-ctx.Done():
		return
	}
	if err := controller.Run(ctx, controller.Config{Client: loopback, Unattended: true}); err != nil {
		klog.ErrorS(err, "operator controller ended")
	}
}

// defineKind creates a definition, or updates the one that is stored if its spec differs.
func defineKind(ctx context.Context, client dynamic.Interface, text []byte) error {
	wanted := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(text, &wanted.Object); err != nil {
		return fmt.Errorf("definition of an operator kind: %w", err)
	}
	resource := client.Resource(definitions.Resource.WithVersion(definition.V1))
	raced := func(err error) bool {
		return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err)
	}
	err := retry.OnError(retry.DefaultBackoff, raced, func() error {
		existing, err := resource.Get(ctx, wanted.GetName(), metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			_, err = resource.Create(ctx, wanted, metav1.CreateOptions{})
			return err
		}
		if err != nil {
			return err
		}
		updated := existing.DeepCopy()
		updated.Object["spec"] = wanted.DeepCopy().Object["spec"]
		if same, err := sameDefinition(existing, updated); err != nil || same {
			return err
		}
		_, err = resource.Update(ctx, updated, metav1.UpdateOptions{})
		return err
	})
	if err != nil {
		return fmt.Errorf("definition %s: %w", wanted.GetName(), err)
	}
	return nil
}

// sameDefinition reports whether the server would store updated with the spec that
// existing has.
func sameDefinition(existing, updated *unstructured.Unstructured) (bool, error) {
	var have, want definition.CustomResourceDefinition
	for obj, crd := range map[*unstructured.Unstructured]*definition.CustomResourceDefinition{existing: &have, updated: &want} {
		text, err := json.Marshal(obj)
		if err != nil {
			return false, err
		}
		if err := json.Unmarshal(text, crd); err != nil {
			return false, err
		}
		definition.SetDefaults(crd)
	}
	definition.Write{APIVersion: definition.V1, Old: &have}.Prepare(&want)
	return want.Generation == have.Generation, nil
}
