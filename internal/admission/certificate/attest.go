package certificate

import (
	"context"
	"fmt"

	certificatesv1 "k8s.io/api/certificates/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// Attest is the admission plugin ClusterTrustBundleAttest. A user that writes a
// ClusterTrustBundle of a signer needs the verb attest on this signer.
type Attest struct {
	*admission.Handler
	authorizer authorizer.UnconditionalAuthorizer
}

var _ admission.ValidationInterface = &Attest{}

// NewAttest returns the plugin. a decides on the verb attest on signers.
func NewAttest(a authorizer.UnconditionalAuthorizer) *Attest {
	return &Attest{Handler: admission.NewHandler(admission.Create, admission.Update), authorizer: a}
}

// Validate implements admission.ValidationInterface. It checks only the signer of the new
// bundle, because the signer of a bundle is immutable.
func (p *Attest) Validate(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if a.GetResource().GroupResource() != certificatesv1.Resource("clustertrustbundles") {
		return nil
	}
	bundle, ok := a.GetObject().(*certificatesv1.ClusterTrustBundle)
	if !ok || bundle.Spec.SignerName == "" || isGarbageCollection(bundle, a) {
		return nil
	}
	want := signerVerb{"attest", bundle.Spec.SignerName}
	if !permitted(ctx, p.authorizer, a, want) {
		return admission.NewForbidden(a, fmt.Errorf("user not permitted to attest for signerName %q", want.signer))
	}
	return nil
}

// isGarbageCollection reports whether an update changes only fields that the garbage collector
// writes: owner references and finalizers.
func isGarbageCollection(bundle *certificatesv1.ClusterTrustBundle, a admission.Attributes) bool {
	old, ok := a.GetOldObject().(*certificatesv1.ClusterTrustBundle)
	if !ok || old == nil || a.GetOperation() != admission.Update {
		return false
	}
	collected := bundle.DeepCopy()
	collected.OwnerReferences, collected.Finalizers = old.OwnerReferences, old.Finalizers
	collected.ManagedFields = old.ManagedFields
	return apiequality.Semantic.DeepEqual(collected, old)
}
