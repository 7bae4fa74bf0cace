package builtin_test

import (
	"slices"
	"strings"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
)

// TestSigningRequestConditions checks which conditions the two subresources of a CertificateSigningRequest write, one
// row after the other on the same request.
func TestSigningRequestConditions(t *testing.T) {
	t.Parallel()
	server := servertest.Start(t, apiserver.Config{DataDir: t.TempDir()})
	createExample(t, dynamic.NewForConfigOrDie(server.Config(t)).Resource(certificatesv1.SchemeGroupVersion.WithResource("certificatesigningrequests")),
		certificatesv1.SchemeGroupVersion.WithKind("CertificateSigningRequest"), signingRequest(t))
	requests := server.Client(t).CertificatesV1().CertificateSigningRequests()
	const (
		checked  = `{"type": "Checked", "status": "True", "reason": "R"}`
		approved = `{"type": "Approved", "status": "True", "reason": "R"}`
		changed  = `{"type": "Approved", "status": "True", "reason": "Other"}`
		stored   = `{"type": "Stored", "status": "True", "reason": "R"}`
	)
	for _, row := range []struct {
		name, subresource string
		conditions        []string
		want              string // the conditions of the answer, or a part of its error
	}{
		{"a signer adds a decision", "status", []string{approved}, `status.conditions: Forbidden: updates may not add a condition of type "Approved"`},
		{"an approver adds a condition of its own", "approval", []string{checked}, "Checked=R"},
		{"an approver decides", "approval", []string{checked, approved}, "Checked=R Approved=R"},
		{"a signer changes the decision", "status", []string{checked, changed, stored}, "Checked=R Approved=R Stored=R"},
		{"a signer removes the decision", "status", []string{stored}, `status.conditions: Forbidden: updates may not remove a condition of type "Approved"`},
		{"an approver removes other conditions", "approval", []string{approved}, "Approved=R"},
	} {
		patch := `{"status": {"conditions": [` + strings.Join(row.conditions, ",") + `]}}`
		answer, err := requests.Patch(t.Context(), "example", types.MergePatchType, []byte(patch), metav1.PatchOptions{}, row.subresource)
		got := ""
		if err != nil {
			got = err.Error()
		} else {
			got = conditionText(answer.Status.Conditions)
		}
		if got != row.want && (err == nil || !strings.Contains(got, row.want)) {
			t.Errorf("%s: %s, want %s", row.name, got, row.want)
		}
	}
}

// conditionText returns the types and reasons of conditions.
func conditionText(conditions []certificatesv1.CertificateSigningRequestCondition) string {
	var all []string
	for c := range slices.Values(conditions) {
		all = append(all, string(c.Type)+"="+c.Reason)
	}
	return strings.Join(all, " ")
}
