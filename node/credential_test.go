package node_test

import (
	"crypto/tls"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/node"
)

// approve approves the requests of a node until the test ends.
func (c *cluster) approve(t *testing.T, name string) {
	t.Helper()
	requests := c.admin.CertificatesV1().CertificateSigningRequests()
	events, err := requests.Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for event := range events.ResultChan() {
			request, ok := event.Object.(*certificatesv1.CertificateSigningRequest)
			if !ok || request.Spec.Username != "system:node:"+name || len(request.Status.Conditions) > 0 {
				continue
			}
			request.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{{
				Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue, Reason: "Test",
			}}
			// The server may have approved it by itself a moment before.
			_, _ = requests.UpdateApproval(t.Context(), request.Name, request, metav1.UpdateOptions{})
		}
	}()
}

// TestCredentialRenewed: a node asks for its next certificate with the one it
// has, and keeps that through a restart.
func TestCredentialRenewed(t *testing.T) {
	c := startCluster(t)
	config := c.credential(t, "n1")
	given := rest.CopyConfig(config)
	root := t.TempDir()
	name := "n1" + c.suffix
	credential, err := node.KeepCredential(config, name, root)
	if err != nil {
		t.Fatal(err)
	}
	if len(config.CertData)+len(config.KeyData) > 0 || config.CertFile == "" {
		t.Fatal("the configuration does not use the file")
	}
	load := func() tls.Certificate {
		t.Helper()
		pair, err := tls.LoadX509KeyPair(config.CertFile, config.KeyFile)
		if err != nil {
			t.Fatal(err)
		}
		return pair
	}
	before := load()
	c.approve(t, name)
	if err := credential.Renew(t.Context(), kubernetes.NewForConfigOrDie(config)); err != nil {
		t.Fatal(err)
	}
	after := load()
	if after.Leaf.Subject.CommonName != "system:node:"+name || after.Leaf.SerialNumber.Cmp(before.Leaf.SerialNumber) == 0 {
		t.Errorf("renewed for %s, serial %v", after.Leaf.Subject, after.Leaf.SerialNumber)
	}
	// It is good for what a node does.
	again := rest.CopyConfig(given)
	if _, err := node.KeepCredential(again, name, root); err != nil {
		t.Fatal(err)
	}
	client := kubernetes.NewForConfigOrDie(again)
	if _, err := client.CoreV1().Pods("").List(t.Context(), metav1.ListOptions{FieldSelector: "spec.nodeName=" + name}); err != nil {
		t.Error(err)
	}
	if kept := load(); after.Leaf.NotAfter.After(before.Leaf.NotAfter) && kept.Leaf.SerialNumber.Cmp(after.Leaf.SerialNumber) != 0 {
		t.Error("the newer certificate did not stay")
	}
	// Without a certificate there is nothing to keep.
	if kept, err := node.KeepCredential(&rest.Config{BearerToken: "x"}, name, t.TempDir()); kept != nil || err != nil {
		t.Errorf("a token: %v, %v", kept, err)
	}
}
