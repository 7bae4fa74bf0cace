package main

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/registry/generic"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/kubernetes/pkg/apis/admissionregistration"
	"k8s.io/kubernetes/pkg/apis/certificates"
)

// The parts of a cluster that some strategies ask. The cluster has namespaces without labels,
// no policies and no other resources, and its user may do everything.
type (
	namespaces struct {
		corev1client.NamespaceInterface
	}
	allowAll    struct{}
	noPolicies  struct{}
	noResources struct{}
)

var errAbsent = errors.New("the oracle has no such object")

func (namespaces) Get(_ context.Context, name string, _ metav1.GetOptions) (*corev1.Namespace, error) {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, nil
}

func (allowAll) Authorize(context.Context, authorizer.Attributes) (authorizer.Decision, string, error) {
	return authorizer.DecisionAllow, "", nil
}

func (noPolicies) GetValidatingAdmissionPolicy(context.Context, string) (*admissionregistration.ValidatingAdmissionPolicy, error) {
	return nil, errAbsent
}

func (noPolicies) GetMutatingAdmissionPolicy(context.Context, string) (*admissionregistration.MutatingAdmissionPolicy, error) {
	return nil, errAbsent
}

func (noResources) Resolve(schema.GroupVersionKind) (schema.GroupVersionResource, error) {
	return schema.GroupVersionResource{}, errAbsent
}

// trustBundleAttributes has the fields that the registry of ClusterTrustBundles does not
// export.
func trustBundleAttributes(obj runtime.Object) (labels.Set, fields.Set, error) {
	bundle := obj.(*certificates.ClusterTrustBundle)
	set := generic.ObjectMetaFieldsSet(&bundle.ObjectMeta, false)
	set["spec.signerName"] = bundle.Spec.SignerName
	return bundle.Labels, set, nil
}
