package doctor

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/internal/definition"
)

// get reads an object or a list that has no typed client here.
func (s *server) get(ctx context.Context, path string, into any) error {
	answered := s.client.Discovery().RESTClient().Get().RequestURI(path).Do(ctx)
	// Error, unlike Raw, has the message of the server.
	if err := answered.Error(); err != nil {
		return err
	}
	text, err := answered.Raw()
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

// definitions checks that the server serves every CustomResourceDefinition, can read its objects, and would accept them again.
func (s *server) definitions(ctx context.Context) []check {
	const name = "definitions"
	var list apiextensionsv1.CustomResourceDefinitionList
	if err := s.get(ctx, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", &list); err != nil {
		return []check{unread(name, err)}
	}
	results := make([][]check, len(list.Items))
	slots := make(chan struct{}, 8)
	var running sync.WaitGroup
	for i := range list.Items {
		running.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			results[i] = s.definition(ctx, &list.Items[i])
		})
	}
	running.Wait()
	var found []check
	for _, result := range results {
		found = append(found, result...)
	}
	return orGood(name, fmt.Sprintf("%d are served, and their objects can be read", len(list.Items)), found)
}

// definition checks one CustomResourceDefinition.
func (s *server) definition(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition) []check {
	const name = "definitions"
	var invalid []check
	for _, condition := range crd.Status.Conditions {
		wrong := condition.Status == apiextensionsv1.ConditionFalse
		switch condition.Type {
		case apiextensionsv1.Established, apiextensionsv1.NamesAccepted:
			if wrong {
				return []check{{
					name, failure, fmt.Sprintf("%s is not %s: %s", crd.Name, condition.Type, condition.Message),
					"kubectl describe crd " + crd.Name,
				}}
			}
		case definition.StoredObjectsValid:
			if wrong {
				invalid = []check{{
					name, warning, fmt.Sprintf("%s has invalid objects: %s", crd.Name, condition.Message),
					"holdfast schema check --objects cluster " + crd.Name,
				}}
			}
		}
	}
	for _, version := range crd.Spec.Versions {
		if !version.Served {
			continue
		}
		path := fmt.Sprintf("/apis/%s/%s/%s?limit=1", crd.Spec.Group, version.Name, crd.Spec.Names.Plural)
		err := s.get(ctx, path, &metav1.PartialObjectMetadataList{})
		if err != nil && !apierrors.IsForbidden(err) {
			return []check{{
				name, failure, fmt.Sprintf("objects of %s cannot be read in version %s: %v", crd.Name, version.Name, err),
				"if a conversion webhook is down, start it; see docs/serve.md, \"A kind that cannot be read\"",
			}}
		}
	}
	return invalid
}

// aggregated checks that the servers of aggregated APIs answer.
func (s *server) aggregated(ctx context.Context) []check {
	var list struct {
		Items []struct {
			Metadata metav1.ObjectMeta
			Spec     struct{ Service *struct{ Name string } }
			Status   struct{ Conditions []metav1.Condition }
		}
	}
	err := s.get(ctx, "/apis/apiregistration.k8s.io/v1/apiservices", &list)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return []check{unread("aggregated APIs", err)}
	}
	var found []check
	others := 0
	for _, item := range list.Items {
		if item.Spec.Service != nil {
			others++
		}
		for _, condition := range item.Status.Conditions {
			if condition.Type == "Available" && condition.Status == metav1.ConditionFalse {
				found = append(found, check{
					"aggregated APIs", failure, fmt.Sprintf("%s is not available: %s", item.Metadata.Name, condition.Message),
					"start its server, or delete the APIService if it is not needed: kubectl delete apiservice " + item.Metadata.Name,
				})
			}
		}
	}
	return orGood("aggregated APIs", fmt.Sprintf("%d of other servers", others), found)
}

// plans checks that no plan of an operator package has failed.
func (s *server) plans(ctx context.Context) []check {
	var list struct {
		Items []struct {
			Metadata metav1.ObjectMeta
			Status   struct {
				PlanStatus map[string]struct{ Status string }
			}
		}
	}
	err := s.get(ctx, "/apis/kudo.dev/v1beta1/instances", &list)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return []check{unread("plans", err)}
	}
	var found []check
	for _, item := range list.Items {
		for plan, status := range item.Status.PlanStatus {
			if status.Status == "FATAL_ERROR" {
				found = append(found, check{
					"plans", warning, fmt.Sprintf("plan %s of instance %s/%s has failed", plan, item.Metadata.Namespace, item.Metadata.Name),
					fmt.Sprintf("holdfast kudo plan status %s -n %s", item.Metadata.Name, item.Metadata.Namespace),
				})
			}
		}
	}
	return orGood("plans", fmt.Sprintf("of %d instances, none has failed", len(list.Items)), found)
}
