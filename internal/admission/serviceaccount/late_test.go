package serviceaccount_test

import (
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"

	"holdfast.dev/holdfast/internal/admission/serviceaccount"
)

// A pod in a new namespace waits until the controller has created the default account, also if a
// busy server takes seconds for that.
func TestDefaultAccountComesLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		accounts := fake.NewClientset().CoreV1()
		plugin := serviceaccount.NewAdmission(corelisters.NewServiceAccountLister(
			cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})), accounts)
		go func() {
			time.Sleep(8 * time.Second)
			account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
			if _, err := accounts.ServiceAccounts("ns").Create(t.Context(), account, metav1.CreateOptions{}); err != nil {
				t.Error(err)
			}
		}()
		pod := &corev1.Pod{}
		if err := plugin.Admit(t.Context(), attributes(pod, ""), nil); err != nil {
			t.Fatal(err)
		}
		if got := pod.Spec.ServiceAccountName; got != "default" {
			t.Errorf("account %q", got)
		}
	})
}
