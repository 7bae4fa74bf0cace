// Package revocation is the admission plugin for the list of revoked credentials, which package access/revocation reads.
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

	"holdfast.dev/holdfast/internal/access/revocation"
)

// A user that writes the list needs Verb on Resource in the API group Group, in addition to the
// permission to write the ConfigMap.
const (
	Verb     = "revoke"
	Group    = "access.holdfast.dev"
	Resource = "credentials"
)

// Plugin is the admission plugin for the ConfigMap with the list. It rejects writers without
// the permission, and lists that the server cannot parse.
type Plugin struct {
	*admission.Handler
	authorizer authorizer.UnconditionalAuthorizer
}

var _ admission.ValidationInterface = &Plugin{}

// New returns the plugin. a decides on the permission.
func New(a authorizer.UnconditionalAuthorizer) *Plugin {
	return &Plugin{Handler: admission.NewHandler(admission.Create, admission.Update, admission.Delete), authorizer: a}
}

// Validate implements admission.ValidationInterface.
func (p *Plugin) Validate(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if a.GetResource().GroupResource() != corev1.Resource("configmaps") || a.GetNamespace() != revocation.Namespace || nameOf(a) != revocation.Name {
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
		if key != revocation.Key {
			errs = append(errs, field.NotSupported(field.NewPath("data"), key, []string{revocation.Key}))
		}
	}
	entries, err := revocation.Parse(stored.Data[revocation.Key])
	if err != nil {
		errs = append(errs, field.Invalid(field.NewPath("data").Key(revocation.Key), field.OmitValueType{}, err.Error()))
	}
	if len(errs) > 0 {
		return apierrors.NewInvalid(corev1.SchemeGroupVersion.WithKind("ConfigMap").GroupKind(), revocation.Name, errs)
	}
	if entry, found := revocation.NewList(entries).Find(revocation.CredentialFrom(ctx)); found {
		warning.AddWarning(ctx, "", "the list revokes your own credential: "+entry.Subject())
	}
	return nil
}
