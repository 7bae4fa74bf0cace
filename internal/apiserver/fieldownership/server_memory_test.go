package fieldownership_test

import (
	"encoding/json"
	"testing"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/etcd"
	"holdfast.dev/holdfast/internal/apiserver/fieldownership"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/waittest"
)

// commandsOf returns the commands that a server remembers for a ConfigMap.
func commandsOf(t *testing.T, client kubernetes.Interface, name string) (fieldownership.CommandList, error) {
	t.Helper()
	var list fieldownership.CommandList
	data, err := client.CoreV1().RESTClient().Get().Namespace("default").Resource("configmaps").Name(name).
		Param("holdfast", "commands").Do(t.Context()).Raw()
	if err == nil {
		err = json.Unmarshal(data, &list)
	}
	return list, err
}

// All servers on one etcd share the remembered commands. They survive a restart, and are
// deleted with their object.
func TestCommandMemory(t *testing.T) {
	t.Parallel()
	cluster := servertest.StartEtcd(t, transport.TLSInfo{})
	store := etcd.Cluster{Servers: []string{cluster}}
	first := servertest.Start(t, apiserver.Config{Etcd: store})
	second := servertest.Start(t, apiserver.Config{Etcd: store})
	made := applied(t, running(t, first.Config(t), "kubectl apply"), "settings")
	patch := running(t, first.Config(t), "kubectl patch")
	if err := patchConfig(t.Context(), patch, "settings", `{"data":{"a":"2","b":"3"}}`, "kubectl-patch"); err != nil {
		t.Fatal(err)
	}
	here, err := commandsOf(t, first.Client(t), "settings")
	if err != nil || here.Kind != "CommandList" || here.UID != made.UID || len(here.Items) != 1 {
		t.Fatalf("at once and in the same server: %+v, %v", here, err)
	}
	if got := here.Items[0]; got.Command != "kubectl patch" || got.Manager != "kubectl-patch" || got.Time.IsZero() ||
		len(got.Fields) != 2 || got.Fields[0] != ".data.a" {
		t.Errorf("remembered %+v", got)
	}
	waittest.Until(t, "the other server knows it", func() bool {
		there, err := commandsOf(t, second.Client(t), "settings")
		return err == nil && len(there.Items) == 1 && there.Items[0].Command == "kubectl patch"
	})

	client, err := clientv3.New(clientv3.Config{Endpoints: []string{cluster}, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	records := func() int64 {
		got, err := client.Get(t.Context(), "/registry/_holdfast/commands/", clientv3.WithPrefix(), clientv3.WithCountOnly())
		if err != nil {
			t.Fatal(err)
		}
		return got.Count
	}
	// The commands of the holdfast binary have another field manager than kubectl's.
	applied(t, running(t, first.Config(t), "holdfast apply"), "other")
	scale := running(t, first.Config(t), "holdfast scale")
	if err := patchConfig(t.Context(), scale, "other", `{"data":{"a":"2"}}`, "holdfast"); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "both objects have a record", func() bool { return records() == 2 })
	for _, name := range []string{"settings", "other"} {
		if err := second.Client(t).CoreV1().ConfigMaps("default").Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	waittest.Until(t, "the records are gone with their objects", func() bool { return records() == 0 })
	if _, err := commandsOf(t, first.Client(t), "settings"); !apierrors.IsNotFound(err) {
		t.Errorf("commands of an object that is gone: %v", err)
	}
	_, err = commandsOf(t, kubernetes.NewForConfigOrDie(first.As(t, "nobody")), "settings")
	if !apierrors.IsForbidden(err) {
		t.Errorf("commands for who may not read the object: %v", err)
	}
}
