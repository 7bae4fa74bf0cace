package access_test

import (
	"context"
	"crypto/tls"
	"strings"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"holdfast.dev/holdfast/internal/access"
	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
)

// TestEnroll covers each outcome of a request: approved by the requester itself,
// denied, not approved in time, forbidden to create, and rejected for its signer.
func TestEnroll(t *testing.T) {
	server := servertest.Start(t, apiserver.Config{})
	client := server.Client(t)
	jane := access.Subject{User: "jane", Groups: []string{"dev"}}
	tests := map[string]struct {
		enrollment access.Enrollment
		client     kubernetes.Interface
		deny       bool
		want       string
	}{
		"approved":       {enrollment: access.Enrollment{Subject: jane, Approval: "Test", Limit: time.Hour}},
		"denied":         {enrollment: access.Enrollment{Subject: jane, Limit: time.Hour}, deny: true, want: ": Denied: not today"},
		"never approved": {enrollment: access.Enrollment{Subject: jane, Limit: time.Millisecond}, want: ": context deadline exceeded"},
		"forbidden to create": {
			enrollment: access.Enrollment{Subject: jane, Limit: time.Hour}, client: kubernetes.NewForConfigOrDie(server.As(t, "bob")),
			want: "request a certificate for jane: certificatesigningrequests.certificates.k8s.io is forbidden: ",
		},
		"signer for nodes only": {
			enrollment: access.Enrollment{
				Subject: jane, Approval: "Test", Limit: time.Hour, Signer: certificatesv1.KubeAPIServerClientKubeletSignerName,
			},
			want: "subject organization is not system:nodes",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			e := test.enrollment
			e.Prefix, e.Poll = strings.ReplaceAll(name, " ", "-")+"-", 10*time.Millisecond
			if e.Signer == "" {
				e.Signer = certificatesv1.KubeAPIServerClientSignerName
			}
			if test.client == nil {
				test.client = client
			}
			if test.deny {
				go deny(t.Context(), client, e.Prefix)
			}
			pair, err := e.Enroll(t.Context(), test.client)
			if test.want != "" {
				if err == nil || !strings.Contains(err.Error(), test.want) {
					t.Errorf("got %v, want %q", err, test.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			certificate, err := tls.X509KeyPair(pair.Cert, pair.Key)
			if err != nil {
				t.Fatal(err)
			}
			if got := certificate.Leaf.Subject.String(); got != "CN=jane,O=dev" {
				t.Errorf("a certificate for %s", got)
			}
		})
	}
}

// deny waits for a request with this name prefix and denies it. It reports no
// error: if it fails, the test's Enroll call times out.
func deny(ctx context.Context, client kubernetes.Interface, prefix string) {
	requests := client.CertificatesV1().CertificateSigningRequests()
	for ctx.Err() == nil {
		list, err := requests.List(ctx, metav1.ListOptions{})
		if err != nil {
			continue
		}
		for _, request := range list.Items {
			if !strings.HasPrefix(request.Name, prefix) {
				continue
			}
			request.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{{
				Type: certificatesv1.CertificateDenied, Status: corev1.ConditionTrue, Reason: "Test", Message: "not today",
			}}
			if _, err := requests.UpdateApproval(ctx, request.Name, &request, metav1.UpdateOptions{}); err == nil {
				return
			}
		}
	}
}
