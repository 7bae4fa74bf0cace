package controller_test

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/waittest"
	"holdfast.dev/holdfast/test/controller/berth"
)

const (
	dockIndex  = "dock"
	ownerIndex = "owner"
)

// signer is a controller that keeps a ConfigMap for each Berth, and adds no finalizer: an object with one is not replaced.
type signer struct {
	client client.Client

	mu sync.Mutex
	// seen are the UIDs of the berths in its cache, in the order of its requests.
	seen []types.UID
}

// addSigner adds the controller to a manager, with an index of the berths by their dock and one of the ConfigMaps by their owner.
func addSigner(manager ctrl.Manager) (*signer, error) {
	s := &signer{client: manager.GetClient()}
	indexer := manager.GetFieldIndexer()
	if err := indexer.IndexField(context.Background(), &berth.Berth{}, dockIndex, func(obj client.Object) []string {
		return []string{obj.(*berth.Berth).Spec.Dock}
	}); err != nil {
		return nil, err
	}
	if err := indexer.IndexField(context.Background(), &corev1.ConfigMap{}, ownerIndex, func(obj client.Object) []string {
		if owner := metav1.GetControllerOf(obj); owner != nil {
			return []string{string(owner.UID)}
		}
		return nil
	}); err != nil {
		return nil, err
	}
	return s, ctrl.NewControllerManagedBy(manager).For(&berth.Berth{}).Owns(&corev1.ConfigMap{}).Complete(s)
}

// Reconcile implements reconcile.Reconciler.
func (s *signer) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	b := &berth.Berth{}
	if err := s.client.Get(ctx, request.NamespacedName, b); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	s.mu.Lock()
	s.seen = append(s.seen, b.UID)
	s.mu.Unlock()
	sign := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "sign-" + b.Name, Namespace: b.Namespace}}
	_, err := controllerutil.CreateOrUpdate(ctx, s.client, sign, func() error {
		sign.Data = map[string]string{"sign": signOf(b)}
		return controllerutil.SetControllerReference(b, sign, s.client.Scheme())
	})
	return ctrl.Result{}, err
}

func (s *signer) sees(uid types.UID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Contains(s.seen, uid)
}

// replace replaces a berth by one in another dock, and reads the new one into it. The parameters are keys and values.
func replace(t *testing.T, config *rest.Config, b *berth.Berth, dock string, parameters ...string) {
	t.Helper()
	changed := b.DeepCopy()
	changed.Spec.Dock = dock
	changed.APIVersion, changed.Kind = berth.GroupVersion.String(), "Berth"
	body, err := json.Marshal(changed)
	if err != nil {
		t.Fatal(err)
	}
	put := kubernetes.NewForConfigOrDie(config).CoreV1().RESTClient().Put().
		AbsPath("/apis/harbour.example.com/v1/namespaces", b.Namespace, "berths", b.Name).
		Param("holdfast", "replace").SetHeader("Content-Type", "application/json").Body(body)
	for i := 0; i < len(parameters); i += 2 {
		put = put.Param(parameters[i], parameters[i+1])
	}
	answer, err := put.Do(t.Context()).Raw()
	if err != nil {
		t.Fatal(err)
	}
	created := &berth.Berth{}
	if err := json.Unmarshal(answer, created); err != nil {
		t.Fatal(err)
	}
	if created.UID == b.UID || created.Spec.Dock != dock {
		t.Fatalf("the answer has the UID %s and the dock %s, the old object %s and %s", created.UID, created.Spec.Dock, b.UID, b.Spec.Dock)
	}
	*b = *created
}

// TestReplacement replaces a custom resource whose immutable field gets another value, while a manager has its cache. The reconciler gets
// a request for the new object, and neither the cache nor its indexes keep the old one. The sign gets the new owner: from the controller
// after the garbage collector deleted it, or from the server if it stays.
func TestReplacement(t *testing.T) {
	config := servertest.Start(t, apiserver.Config{}).Config(t)
	c := harbourClient(t, config)
	manager := newManager(t, config, ctrl.Options{Scheme: c.Scheme()})
	signer, err := addSigner(manager)
	if err != nil {
		t.Fatal(err)
	}
	start(t, manager)
	cached := manager.GetClient()

	b := newBerth("b1")
	if err := c.Create(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	name, signName := client.ObjectKeyFromObject(b), client.ObjectKey{Namespace: "default", Name: "sign-b1"}
	// settled waits until the cache has the berth, with its sign, and nothing of those before it.
	settled := func(old ...*berth.Berth) {
		t.Helper()
		waittest.Until(t, "the reconciler got a request for the berth", func() bool { return signer.sees(b.UID) })
		var found berth.Berth
		if err := cached.Get(t.Context(), name, &found); err != nil || found.UID != b.UID {
			t.Errorf("the cache has the berth %s, want %s: %v", found.UID, b.UID, err)
		}
		docked := func(dock string) (uids []types.UID) {
			t.Helper()
			var list berth.BerthList
			if err := cached.List(t.Context(), &list, client.MatchingFields{dockIndex: dock}); err != nil {
				t.Error(err)
			}
			for i := range list.Items {
				uids = append(uids, list.Items[i].UID)
			}
			return uids
		}
		if got := docked(b.Spec.Dock); !slices.Equal(got, []types.UID{b.UID}) {
			t.Errorf("dock %s has %v, want %s", b.Spec.Dock, got, b.UID)
		}
		owned := func(by types.UID) (names []string) {
			t.Helper()
			var list corev1.ConfigMapList
			if err := cached.List(t.Context(), &list, client.MatchingFields{ownerIndex: string(by)}); err != nil {
				t.Error(err)
			}
			for i := range list.Items {
				names = append(names, list.Items[i].Name)
			}
			return names
		}
		waittest.Until(t, "the berth owns its sign", func() bool {
			var sign corev1.ConfigMap
			if err := cached.Get(t.Context(), signName, &sign); err != nil || sign.Data["sign"] != signOf(b) {
				return false
			}
			return slices.Equal(owned(b.UID), []string{signName.Name})
		})
		for _, gone := range old {
			if got := docked(gone.Spec.Dock); gone.Spec.Dock != b.Spec.Dock && len(got) > 0 {
				t.Errorf("dock %s of the old berth has %v", gone.Spec.Dock, got)
			}
			if got := owned(gone.UID); len(got) > 0 {
				t.Errorf("the old berth %s owns %v", gone.UID, got)
			}
		}
	}
	settled()
	first := b.DeepCopy()
	replace(t, config, b, "south")
	settled(first)

	// The dependents stay: the sign is the same object, and has the new owner.
	var before, after corev1.ConfigMap
	if err := c.Get(t.Context(), signName, &before); err != nil {
		t.Fatal(err)
	}
	second := b.DeepCopy()
	replace(t, config, b, "north", "propagationPolicy", "Orphan", "adopt", "true")
	settled(second)
	if err := c.Get(t.Context(), signName, &after); err != nil || after.UID != before.UID {
		t.Errorf("the sign has the UID %s, want %s: %v", after.UID, before.UID, err)
	}

	third := b.DeepCopy()
	for _, dock := range []string{"east", "west", "south"} {
		replace(t, config, b, dock)
	}
	settled(first, second, third)
	if err := c.Delete(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "the cache has no berth and no sign", func() bool {
		gone := apierrors.IsNotFound(cached.Get(t.Context(), name, &berth.Berth{}))
		return gone && apierrors.IsNotFound(cached.Get(t.Context(), signName, &corev1.ConfigMap{}))
	})
}
