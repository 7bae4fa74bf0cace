package builtin

import (
	"context"
	"slices"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"holdfast.dev/holdfast/internal/apiserver/subresource"
)

// A CertificateSigningRequest has two subresources that write its status: an approver
// writes /approval, a signer writes /status. Neither changes the fields of the other.

// isDecision reports whether a condition belongs to the approver.
func isDecision(condition certificatesv1.CertificateSigningRequestCondition) bool {
	return condition.Type == certificatesv1.CertificateApproved || condition.Type == certificatesv1.CertificateDenied
}

// conditions joins the decisions of one list with the other conditions of a second
// list.
func conditions(
	decisions, others []certificatesv1.CertificateSigningRequestCondition,
) []certificatesv1.CertificateSigningRequestCondition {
	notDecision := func(c certificatesv1.CertificateSigningRequestCondition) bool { return !isDecision(c) }
	return append(slices.DeleteFunc(slices.Clone(decisions), notDecision), slices.DeleteFunc(slices.Clone(others), isDecision)...)
}

// approvalStrategy lets a write approve or deny a request.
type approvalStrategy struct{ statusStrategy }

// PrepareForUpdate implements rest.RESTUpdateStrategy.
func (s approvalStrategy) PrepareForUpdate(ctx context.Context, newObj, oldObj runtime.Object) {
	s.statusStrategy.PrepareForUpdate(ctx, newObj, oldObj)
	newStatus, oldStatus := requestStatus(newObj), requestStatus(oldObj)
	newStatus.Conditions = conditions(newStatus.Conditions, oldStatus.Conditions)
	newStatus.Certificate = oldStatus.Certificate
	setTimes(newStatus.Conditions, oldStatus.Conditions)
}

// setTimes sets the times of conditions that the client left out. A condition that was there
// before keeps the time of its transition.
func setTimes(updated, old []certificatesv1.CertificateSigningRequestCondition) {
	now := metav1.Now()
	for i := range updated {
		condition := &updated[i]
		if condition.LastUpdateTime.IsZero() {
			condition.LastUpdateTime = now
		}
		if !condition.LastTransitionTime.IsZero() {
			continue
		}
		condition.LastTransitionTime = now
		same := slices.IndexFunc(old, func(before certificatesv1.CertificateSigningRequestCondition) bool {
			return before.Type == condition.Type && before.Status == condition.Status && !before.LastTransitionTime.IsZero()
		})
		if same >= 0 {
			condition.LastTransitionTime = old[same].LastTransitionTime
		}
	}
}

// GetResetFields implements rest.ResetFieldsStrategy.
func (s approvalStrategy) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	fields := fieldpath.NewSet(fieldpath.MakePathOrDie("spec"), fieldpath.MakePathOrDie("status", "certificate"))
	return subresource.ResetFields(fields, s.versions()...)
}

// signingStrategy lets a write add the certificate and conditions other than the
// decision.
type signingStrategy struct{ statusStrategy }

// PrepareForUpdate implements rest.RESTUpdateStrategy.
func (s signingStrategy) PrepareForUpdate(ctx context.Context, newObj, oldObj runtime.Object) {
	s.statusStrategy.PrepareForUpdate(ctx, newObj, oldObj)
	newStatus, oldStatus := requestStatus(newObj), requestStatus(oldObj)
	newStatus.Conditions = conditions(oldStatus.Conditions, newStatus.Conditions)
	setTimes(newStatus.Conditions, oldStatus.Conditions)
}

// GetResetFields implements rest.ResetFieldsStrategy.
func (s signingStrategy) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	fields := fieldpath.NewSet(fieldpath.MakePathOrDie("spec"), fieldpath.MakePathOrDie("status", "conditions"))
	return subresource.ResetFields(fields, s.versions()...)
}

func requestStatus(obj runtime.Object) *certificatesv1.CertificateSigningRequestStatus {
	return &obj.(*certificatesv1.CertificateSigningRequest).Status
}
