package faults_test

import (
	"fmt"
	"net/http"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"holdfast.dev/holdfast/internal/waittest"
)

// etcd stores a Service, and the server gets no answer to this write, or to one of those around it. If the Service is stored, it has the claims
// of its address, so that no other Service gets the same one.
func TestUnconfirmedService(t *testing.T) {
	t.Parallel()
	program := buildBreakable(t)
	server := newServer(filepath.Join(t.TempDir(), "data"))
	server.program = filepath.Join(program.dir, "holdfast")
	switches, env := newSwitches(t)
	server.env = env
	server.start(t)
	c := server.client.Load()
	const services, addresses = "/api/v1/namespaces/default/services", "/apis/networking.k8s.io/v1/ipaddresses/"
	written := program.point(t, "etcd:written")
	stored, failed := 0, 0
	// Other writes of the server also come first, so one of these is the Service.
	for i := 0; stored == 0 || i < 12; i++ {
		if err := switches.arm(written, fmt.Sprintf(`%d*off->1*return("no answer")->off`, i%6)); err != nil {
			t.Fatal(err)
		}
		name := fmt.Sprintf("s%d", i)
		a := c.create(t.Context(), services, objectOf("{apiVersion: v1, kind: Service, metadata: {name: "+name+"}, spec: {type: NodePort, ports: [{port: 80}]}}"))
		if a.outcome == acknowledged {
			continue
		}
		failed++
		found := c.get(t.Context(), services+"/"+name)
		if found.code == http.StatusNotFound {
			continue
		}
		stored++
		address, _, _ := unstructured.NestedString(found.object, "spec", "clusterIP")
		if claim := c.get(t.Context(), addresses+address); claim.err != nil {
			t.Fatalf("the Service %s is stored, and its address %s is free: %v", name, address, claim.err)
		}
	}
	waittest.Until(t, "the server is ready", func() error { return c.rest.Get().RequestURI("/readyz").Do(t.Context()).Error() })
	t.Logf("%d Services without confirmation, %d of them are stored", failed, stored)
}
