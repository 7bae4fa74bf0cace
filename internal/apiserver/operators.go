package apiserver

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/client-go/dynamic"
	restclient "k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"
	"k8s.io/klog/v2"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/api"
	"holdfast.dev/holdfast/internal/apiserver/definitions"
	"holdfast.dev/holdfast/internal/apiserver/identity"
	"holdfast.dev/holdfast/internal/apiserver/start"
	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/internal/operator/authorship"
	"holdfast.dev/holdfast/internal/operator/controller"
)

// addOperatorKinds creates the definitions of the kinds of operator packages, and closes
// served when the server serves them. Every server does it when it starts, and writes only
// what differs. If a write is refused, the start continues, and attemptAll retries the
// write. The channel read is closed when the stored definitions are served.
func addOperatorKinds(h *start.Hooks, client dynamic.Interface, read <-chan struct{}, served chan<- struct{}) error {
	texts, err := api.CustomResourceDefinitions()
	if err != nil {
		return err
	}
	return h.OnStart(api.BuiltInHook, func(hook genericapiserver.PostStartHookContext) error {
		attemptAll(hook, attempt{"definitions of operator packages", func(ctx context.Context) error {
			for _, text := range texts {
				if err := defineKind(ctx, client, text); err != nil {
					return err
				}
			}
			if err := waitForOperatorKinds(ctx, client, read); err != nil {
				return fmt.Errorf("wait until the kinds are served: %w", err)
			}
			close(served)
			return nil
		}})
		return nil
	})
}

// waitForOperatorKinds waits until the server serves the kinds of operator packages. It sends no
// request before the stored definitions are served: the server would answer 503, and the client
// then waits 5 seconds.
func waitForOperatorKinds(ctx context.Context, client dynamic.Interface, read <-chan struct{}) error {
	select {
	case <-read:
	case <-ctx.Done():
		return ctx.Err()
	}
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

// runOperators runs the plans of Instances, once their kinds are served and the roles of the
// controller are known. The server runs no workload controllers. So the plans do not wait for an
// object if no controller has ever set its status, unless a kube-controller-manager runs beside
// the server: that one sets the status of new workloads a moment later.
func runOperators(ctx context.Context, b start.Base, identity identity.Stage, kinds <-chan struct{}) {
	select {
	case <-kinds:
	case <-ctx.Done():
		return
	}
	if err := wait.PollUntilContextCancel(ctx, readyPoll, true, controllerAllowed(identity.Authorizer)); err != nil {
		return
	}
	client := restclient.CopyConfig(b.Generic.LoopbackClientConfig)
	client.BearerToken = identity.Operators.Token
	config := controller.Config{
		Client: client, Keys: identity.Operators.Keys, Deletions: identity.Operators.Deletions,
		Unattended: !besideControllerManager(b.Config), Metrics: b.Metrics.Plans,
	}
	if err := controller.Run(ctx, config); err != nil {
		klog.ErrorS(err, "operator controller ended")
	}
}

// controllerAllowed returns a condition that is true when the roles allow the controller to
// watch Instances.
func controllerAllowed(roles authorizer.Authorizer) wait.ConditionWithContextFunc {
	return func(ctx context.Context) (bool, error) {
		decision, _, err := roles.Authorize(ctx, authorizer.AttributesRecord{
			User: &user.DefaultInfo{Name: authorship.ControllerUser}, Verb: "watch", ResourceRequest: true,
			APIGroup: api.GroupVersion.Group, APIVersion: api.GroupVersion.Version, Resource: "instances",
		})
		if err != nil {
			return false, nil //nolint:nilerr // a role that cannot be read yet
		}
		return decision == authorizer.DecisionAllow, nil
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
