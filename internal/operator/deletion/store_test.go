package deletion_test

import (
	"context"
	"errors"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/api"
	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/operator/authorship"
	"holdfast.dev/holdfast/internal/operator/deletion"
)

// TestStore checks which record counts for an Instance that is being deleted.
func TestStore(t *testing.T) {
	t.Parallel()
	keys := authorship.NewKeyring(func(context.Context) ([][]byte, error) {
		return [][]byte{make([]byte, authorship.KeySize)}, nil
	})
	// The server removes the records of Instances that do not exist from kube-system, so the
	// records of this test are in another namespace.
	store := deletion.NewStore(servertest.Start(t, apiserver.Config{}).Client(t), metav1.NamespaceDefault, keys)
	record := func(instance *api.Instance, user string) {
		t.Helper()
		if err := store.Record(t.Context(), instance, authorship.User{Username: user}); err != nil {
			t.Fatal(err)
		}
	}
	// want checks the user that deleted the Instance; "" means that none is known.
	want := func(instance *api.Instance, user string) {
		t.Helper()
		got, err := store.Get(t.Context(), instance)
		switch {
		case user == "" && !errors.Is(err, authorship.ErrUnverified):
			t.Errorf("deleted by %+v, %v", got, err)
		case user != "" && (err != nil || got.By.Username != user):
			t.Errorf("deleted by %+v, %v, want %s", got, err, user)
		}
	}
	mine := &api.Instance{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "mine", UID: "one"}}
	deleted := mine.DeepCopy()
	deleted.DeletionTimestamp = &metav1.Time{Time: time.Now()}

	want(deleted, "")
	record(mine, "ann")
	want(mine, "") // it is not being deleted
	record(mine, "bob")
	want(deleted, "bob") // the delete of ann was refused
	record(deleted, "eve")
	want(deleted, "bob") // the deletion has begun

	later := deleted.DeepCopy()
	later.DeletionTimestamp = &metav1.Time{Time: time.Now().Add(time.Hour)}
	want(later, "") // the record is of an earlier delete, which was refused
	other := deleted.DeepCopy()
	other.Name = "other"
	want(other, "") // the record is about another Instance
	record(later, "eve")
	want(deleted, "eve") // no record counted, so a second delete is recorded

	record(mine, "system:serviceaccount:kube-system:generic-garbage-collector")
	if got, err := store.Get(t.Context(), deleted); err != nil || !got.Controller || got.By.Known() {
		t.Errorf("deleted by %+v, %v, want a controller", got, err)
	}
	const manager = "system:serviceaccount:kudo-system:kudo-manager"
	record(mine, manager)
	want(deleted, manager) // on our own server, any user may have this account

	for _, exists := range []bool{true, false} {
		if err := store.Sweep(t.Context(), func(namespace, name string, uid types.UID) (bool, error) {
			if namespace != "default" || name != "mine" || uid != "one" {
				t.Errorf("asked for %s/%s %s", namespace, name, uid)
			}
			return exists, nil
		}); err != nil {
			t.Fatal(err)
		}
		if _, err := store.Get(t.Context(), deleted); (err == nil) != exists {
			t.Errorf("exists %t: %v", exists, err)
		}
	}
}
