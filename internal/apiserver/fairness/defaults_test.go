package fairness_test

import (
	"testing"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/apis/flowcontrol/bootstrap"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/retry"

	"holdfast.dev/holdfast/internal/waittest"
)

func TestDefaultsExist(t *testing.T) {
	client := kubernetes.NewForConfigOrDie(administrator).FlowcontrolV1()
	for _, want := range append(bootstrap.MandatoryFlowSchemas, bootstrap.SuggestedFlowSchemas...) {
		if _, err := client.FlowSchemas().Get(t.Context(), want.Name, metav1.GetOptions{}); err != nil {
			t.Error(err)
		}
	}
	for _, want := range append(bootstrap.MandatoryPriorityLevelConfigurations, bootstrap.SuggestedPriorityLevelConfigurations...) {
		if _, err := client.PriorityLevelConfigurations().Get(t.Context(), want.Name, metav1.GetOptions{}); err != nil {
			t.Error(err)
		}
	}
}

func TestDeletedDefaultComesBack(t *testing.T) {
	client := kubernetes.NewForConfigOrDie(administrator).FlowcontrolV1()
	for _, name := range []string{"catch-all", "service-accounts"} {
		was, err := client.FlowSchemas().Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if err := client.FlowSchemas().Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		waittest.Until(t, name+" is back", func() bool {
			is, err := client.FlowSchemas().Get(t.Context(), name, metav1.GetOptions{})
			return err == nil && is.UID != was.UID
		})
	}
}

// A suggested level gets its spec back, unless the administrator says otherwise.
func TestChangedDefault(t *testing.T) {
	client := kubernetes.NewForConfigOrDie(administrator).FlowcontrolV1().PriorityLevelConfigurations()
	const name = "workload-low"
	change := func(automatic string, shares int32) {
		t.Helper()
		err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
			level, err := client.Get(t.Context(), name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			metav1.SetMetaDataAnnotation(&level.ObjectMeta, flowcontrolv1.AutoUpdateAnnotationKey, automatic)
			level.Spec.Limited.NominalConcurrencyShares = &shares
			_, err = client.Update(t.Context(), level, metav1.UpdateOptions{})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	shares := func() int32 {
		level, err := client.Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return *level.Spec.Limited.NominalConcurrencyShares
	}
	suggested := shares()
	change("true", suggested+1)
	waittest.Until(t, "the spec is restored", func() bool { return shares() == suggested })
	change("false", suggested+1)
	// The other level is restored by the same loop, after it has looked at this one.
	if err := client.Delete(t.Context(), "global-default", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "global-default is back", func() error {
		_, err := client.Get(t.Context(), "global-default", metav1.GetOptions{})
		return err
	})
	if got := shares(); got != suggested+1 {
		t.Errorf("%d shares, want those of the administrator, %d", got, suggested+1)
	}
	change("true", suggested)
}
