package revocation

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/warning"
)

// A user that writes the list needs Verb on Resource in the API group Group, in addition to the
// permission to write the ConfigMap.
const (
	Verb     = "revoke"
	Group    = "access.holdfast.dev"
	Resource = "credentials"
)

// Admission is the admission plugin for the ConfigMap with the list. It rejects writers without
// the permission, and lists that the server cannot parse.
type Admission struct {
	*admission.Handler
	authorizer authorizer.UnconditionalAuthorizer
}

var _ admission.ValidationInterface = &Admission{}

// NewAdmission returns the plugin. a decides on the permission.
func NewAdmission(a authorizer.UnconditionalAuthorizer) *Admission {
	return &Admission{Handler: admission.NewHandler(admission.Create, admission.Update, admission.Delete), authorizer: a}
}

// Validate implements admission.ValidationInterface.
func (p *Admission) Validate(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if a.GetResource().GroupResource() != corev1.Resource("configmaps") || a.GetNamespace() != Namespace || nameOf(a) != Name {
		return nil
	}
	decision, _, err := p.authorizer.Authorize(ctx, authorizer.AttributesRecord{
		User: a.GetUserInfo(), Verb: Verb, APIGroup: Group, APIVersion: "*", Resource: Resource, ResourceRequest: true,
	})
	if err != nil || decision != authorizer.DecisionAllow {
		return admission.NewForbidden(a, errors.Join(err, fmt.Errorf("the list of revoked credentials: user %q cannot %s %s.%s",
			a.GetUserInfo().GetName(), Verb, Resource, Group)))
	}
	stored, ok := a.GetObject().(*corev1.ConfigMap)
	if !ok {
		return nil
	}
	return judge(ctx, stored)
}

// nameOf returns the name of the written object. The deletion of a collection has the name in
// the old object only.
func nameOf(a admission.Attributes) string {
	for _, obj := range []any{a.GetObject(), a.GetOldObject()} {
		if named, ok := obj.(metav1.Object); ok && named.GetName() != "" {
			return named.GetName()
		}
	}
	return a.GetName()
}

// judge returns an error if the server cannot parse the new list. If the new list revokes the
// credential with which the client sends it, the client gets a warning.
func judge(ctx context.Context, stored *corev1.ConfigMap) error {
	var errs field.ErrorList
	for _, key := range slices.Sorted(maps.Keys(stored.Data)) {
		if key != Key {
			errs = append(errs, field.NotSupported(field.NewPath("data"), key, []string{Key}))
		}
	}
	entries, err := Parse(stored.Data[Key])
	if err != nil {
		errs = append(errs, field.Invalid(field.NewPath("data").Key(Key), field.OmitValueType{}, err.Error()))
	}
	if len(errs) > 0 {
		return apierrors.NewInvalid(corev1.SchemeGroupVersion.WithKind("ConfigMap").GroupKind(), Name, errs)
	}
	if entry, found := NewList(entries).Find(credentialFrom(ctx)); found {
		warning.AddWarning(ctx, "", "the list revokes your own credential: "+entry.Subject())
	}
	return nil
}
