package builtin

import (
	"context"
	"fmt"
	"slices"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"holdfast.dev/holdfast/internal/apiserver/subresource"
)

// A CertificateSigningRequest has two subresources that write its status: an approver
// writes the conditions with /approval, and a signer writes /status. A signer cannot change the decision of the approver.

// decisions are the types of conditions that only an approver can add and change.
var decisions = []certificatesv1.RequestConditionType{certificatesv1.CertificateApproved, certificatesv1.CertificateDenied}

// approvalStrategy lets a write approve or deny a request.
type approvalStrategy struct{ statusStrategy }

// PrepareForUpdate implements rest.RESTUpdateStrategy.
func (s approvalStrategy) PrepareForUpdate(ctx context.Context, newObj, oldObj runtime.Object) {
	s.statusStrategy.PrepareForUpdate(ctx, newObj, oldObj)
	newStatus, oldStatus := requestStatus(newObj), requestStatus(oldObj)
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

// PrepareForUpdate implements rest.RESTUpdateStrategy. A decision that the client sends keeps its stored value, so that a
// client with an older copy can write the status.
func (s signingStrategy) PrepareForUpdate(ctx context.Context, newObj, oldObj runtime.Object) {
	s.statusStrategy.PrepareForUpdate(ctx, newObj, oldObj)
	newStatus, oldStatus := requestStatus(newObj), requestStatus(oldObj)
	for _, decision := range decisions {
		updated, old := indices(newStatus.Conditions, decision), indices(oldStatus.Conditions, decision)
		if len(updated) != len(old) {
			continue // ValidateUpdate refuses it
		}
		for i := range updated {
			newStatus.Conditions[updated[i]] = oldStatus.Conditions[old[i]]
		}
	}
	setTimes(newStatus.Conditions, oldStatus.Conditions)
}

// indices returns the places of the conditions of a type.
func indices(conditions []certificatesv1.CertificateSigningRequestCondition, kind certificatesv1.RequestConditionType) []int {
	var found []int
	for i := range conditions {
		if conditions[i].Type == kind {
			found = append(found, i)
		}
	}
	return found
}

// ValidateUpdate implements rest.RESTUpdateStrategy. It refuses to add a decision; the rules refuse to remove one.
func (s signingStrategy) ValidateUpdate(ctx context.Context, newObj, oldObj runtime.Object) field.ErrorList {
	errs := s.statusStrategy.ValidateUpdate(ctx, newObj, oldObj)
	for _, decision := range decisions {
		if len(indices(requestStatus(newObj).Conditions, decision)) > len(indices(requestStatus(oldObj).Conditions, decision)) {
			errs = append(errs, field.Forbidden(field.NewPath("status", "conditions"),
				fmt.Sprintf("updates may not add a condition of type %q", decision)))
		}
	}
	return errs
}

// GetResetFields implements rest.ResetFieldsStrategy.
func (s signingStrategy) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	fields := fieldpath.NewSet(fieldpath.MakePathOrDie("spec"), fieldpath.MakePathOrDie("status", "conditions"))
	return subresource.ResetFields(fields, s.versions()...)
}

func requestStatus(obj runtime.Object) *certificatesv1.CertificateSigningRequestStatus {
	return &obj.(*certificatesv1.CertificateSigningRequest).Status
}
