package controller_test

import (
	"context"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/waittest"
)

// TestLeaderElection: when the leader stops, another manager becomes the leader.
func TestLeaderElection(t *testing.T) {
	config := servertest.Start(t, apiserver.Config{}).Config(t)
	direct := directClient(t, config)
	retry := 100 * time.Millisecond
	candidate := func() ctrl.Manager {
		manager := newManager(t, config, ctrl.Options{
			LeaderElection:                true,
			LeaderElectionID:              "publisher",
			LeaderElectionNamespace:       metav1.NamespaceDefault,
			LeaderElectionReleaseOnCancel: true,
			RetryPeriod:                   &retry,
		})
		if err := addPublisher(manager, func(context.Context, client.ObjectKey) error { return nil }); err != nil {
			t.Fatal(err)
		}
		return manager
	}
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "publisher", Namespace: metav1.NamespaceDefault}}
	holder := func(ctx context.Context) string {
		if err := direct.Get(ctx, client.ObjectKeyFromObject(lease), lease); err != nil || lease.Spec.HolderIdentity == nil {
			return ""
		}
		return *lease.Spec.HolderIdentity
	}
	isPublished := func(name string) {
		t.Helper()
		if err := direct.Create(t.Context(), newDeployment(name, "nginx")); err != nil {
			t.Fatal(err)
		}
		waittest.Until(t, name+" is published", func() bool {
			return direct.Get(t.Context(), client.ObjectKey{Namespace: metav1.NamespaceDefault, Name: name}, &corev1.ConfigMap{}) == nil
		})
	}

	first, second := candidate(), candidate()
	stopFirst := start(t, first)
	<-first.Elected()
	start(t, second)
	firstHolder := holder(t.Context())
	if firstHolder == "" {
		t.Fatal("the lease has no holder, although there is a leader")
	}
	isPublished("while-the-first-leads")
	select {
	case <-second.Elected():
		t.Fatal("two managers lead at once")
	default:
	}

	stopFirst()
	<-second.Elected()
	if now := holder(t.Context()); now == firstHolder || now == "" {
		t.Errorf("the lease is held by %q, the manager that released it was %q", now, firstHolder)
	}
	if *lease.Spec.LeaseTransitions == 0 {
		t.Error("the lease counts no transitions")
	}
	isPublished("while-the-second-leads")
}
