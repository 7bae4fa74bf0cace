package apiserver

import (
	"context"
	"slices"

	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// A signing request has two subresources that write its status, for two people:
// approval decides, status answers. Neither touches what is the other's.

// isDecision says that a condition is one of who approves.
func isDecision(condition certificatesv1.CertificateSigningRequestCondition) bool {
	return condition.Type == certificatesv1.CertificateApproved || condition.Type == certificatesv1.CertificateDenied
}

// conditions takes the decisions of one list and the rest of the other.
func conditions(decisions, others []certificatesv1.CertificateSigningRequestCondition) []certificatesv1.CertificateSigningRequestCondition {
	notDecision := func(c certificatesv1.CertificateSigningRequestCondition) bool { return !isDecision(c) }
	return append(slices.DeleteFunc(slices.Clone(decisions), notDecision), slices.DeleteFunc(slices.Clone(others), isDecision)...)
}

// approvalStrategy lets a write decide a request.
type approvalStrategy struct{ statusStrategy }

// PrepareForUpdate implements rest.RESTUpdateStrategy.
func (s approvalStrategy) PrepareForUpdate(ctx context.Context, newObj, oldObj runtime.Object) {
	s.statusStrategy.PrepareForUpdate(ctx, newObj, oldObj)
	newStatus, oldStatus := requestStatus(newObj), requestStatus(oldObj)
	newStatus.Conditions = conditions(newStatus.Conditions, oldStatus.Conditions)
	newStatus.Certificate = oldStatus.Certificate
}

// GetResetFields implements rest.ResetFieldsStrategy.
func (s approvalStrategy) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	return s.resetFields(fieldpath.MakePathOrDie("spec"), fieldpath.MakePathOrDie("status", "certificate"))
}

// answerStrategy lets a write answer a request.
type answerStrategy struct{ statusStrategy }

// PrepareForUpdate implements rest.RESTUpdateStrategy.
func (s answerStrategy) PrepareForUpdate(ctx context.Context, newObj, oldObj runtime.Object) {
	s.statusStrategy.PrepareForUpdate(ctx, newObj, oldObj)
	requestStatus(newObj).Conditions = conditions(requestStatus(oldObj).Conditions, requestStatus(newObj).Conditions)
}

func requestStatus(obj runtime.Object) *certificatesv1.CertificateSigningRequestStatus {
	return &obj.(*certificatesv1.CertificateSigningRequest).Status
}
