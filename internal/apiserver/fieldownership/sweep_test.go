package fieldownership_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/fieldownership"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
)

// If the lookup of one object fails, the records of other deleted objects are removed all
// the same.
func TestSweepGoesOn(t *testing.T) {
	m := fieldownership.NewMemory(newRecords(t))
	for i := range 3 {
		uid := types.UID(fmt.Sprint(i))
		m.Remember(fieldownership.Object{UID: uid, Path: "/" + string(uid)}, command("kubectl patch", ".data.a"))
	}
	run(t, m)()
	err := m.Sweep(t.Context(), func(_ context.Context, object fieldownership.Object) (bool, error) {
		if object.UID == "2" {
			return false, nil
		}
		return false, errors.New("the server is ill")
	})
	if err == nil || err.Error() != "look for /0: the server is ill" {
		t.Errorf("the sweep ends with %v", err)
	}
	for uid, want := range map[types.UID]int{"0": 1, "1": 1, "2": 0} {
		if n := count(t, m, uid); n != want {
			t.Errorf("%d commands of %s, want %d", n, uid, want)
		}
	}
}

// A lookup finds an object even if its name holds characters that URLs reserve.
func TestLookupAt(t *testing.T) {
	server := servertest.Start(t, apiserver.Config{})
	config := server.Config(t)
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	isThere := fieldownership.LookupAt(client, config.Host)
	const roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles/"
	for _, name := range []string{"plain", "who?x=y", "a#b", "system:a b", "100&more+"} {
		role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}}
		made, err := server.Client(t).RbacV1().ClusterRoles().Create(t.Context(), role, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if there, err := isThere(t.Context(), fieldownership.Object{UID: made.UID, Path: roles + name}); err != nil || !there {
			t.Errorf("%s: there: %v, %v", name, there, err)
		}
		if there, err := isThere(t.Context(), fieldownership.Object{UID: "another", Path: roles + name}); err != nil || there {
			t.Errorf("%s with another UID: there: %v, %v", name, there, err)
		}
	}
	if there, err := isThere(t.Context(), fieldownership.Object{UID: "1", Path: roles + "nobody"}); err != nil || there {
		t.Errorf("one that is gone: there: %v, %v", there, err)
	}
	nobody := rest.AnonymousClientConfig(config)
	if client, err = rest.HTTPClientFor(nobody); err != nil {
		t.Fatal(err)
	}
	object := fieldownership.Object{UID: "1", Path: roles + "plain"}
	_, err = fieldownership.LookupAt(client, config.Host)(t.Context(), object)
	if err == nil || !strings.Contains(err.Error(), "the server answers 4") {
		t.Errorf("a lookup that is not allowed: %v", err)
	}
}
