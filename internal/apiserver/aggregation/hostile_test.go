package aggregation_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/waittest"
	"holdfast.dev/holdfast/internal/yamltest"
)

// hostile is an aggregated server that claims kinds of other groups, sends documents without
// end, does not answer, and redirects.
type hostile struct {
	address netAddress
	ca      []byte
	// asked gets the path of each request that is not answered.
	asked chan string
	// end ends the requests that are not answered.
	end chan struct{}
}

const claimedGroups = `{"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2","metadata":{},"items":[
{"metadata":{"name":"evil.example"},"versions":[{"version":"v1","resources":[{"resource":"evils","scope":"Cluster","verbs":["get"],
"responseKind":{"group":"evil.example","version":"v1","kind":"Evil"}}]}]},
{"metadata":{"name":"apps"},"versions":[{"version":"v1","resources":[{"resource":"pwned","scope":"Cluster","verbs":["get"],
"responseKind":{"group":"apps","version":"v1","kind":"Pwned"}}]}]}]}`

const claimedPaths = `{"swagger":"2.0","info":{"title":"x","version":"1"},"paths":{
"/apis/apps/v1/pwned":{"get":{"responses":{"200":{"description":"OK"}}}},
"/apis/evil.example/v1/evils":{"get":{"responses":{"200":{"description":"OK"}}}},
"/apis/hang.example/v1/x":{"get":{"parameters":[{"name":"a","in":"nowhere"}],"responses":{"200":{"description":"OK"}}}}},
"definitions":{"io.k8s.api.core.v1.ConfigMapKeySelector":{"type":"string","x-kubernetes-group-version-kind":[{"group":"apps","version":"v1",
"kind":"Deployment"}]}}}`

func startHostile(t *testing.T) *hostile {
	t.Helper()
	listener, address := listenOn(t)
	certFile, keyFile, ca := servingFiles(t, "evil")
	h := &hostile{address: address, ca: ca, asked: make(chan string, 100), end: make(chan struct{})}
	server := &http.Server{Handler: h, ReadHeaderTimeout: time.Minute}
	ended := make(chan struct{})
	go func() {
		_ = server.ServeTLS(listener, certFile, keyFile)
		close(ended)
	}()
	t.Cleanup(func() {
		close(h.end)
		_ = server.Close()
		<-ended
	})
	return h
}

func (h *hostile) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	switch req.URL.Path {
	case "/apis/evil.example/v1", "/apis/hang.example/v1":
		w.Header().Set("Content-Type", "application/json")
		gv := strings.TrimPrefix(req.URL.Path, "/apis/")
		_, _ = fmt.Fprintf(w, `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":%q,"resources":[]}`, gv)
	case "/apis":
		w.Header().Set("Content-Type", aggregatedDiscovery)
		_, _ = io.WriteString(w, claimedGroups)
	case "/openapi/v2":
		_, _ = io.WriteString(w, claimedPaths)
	case "/openapi/v3/apis/evil.example/v1":
		for block := strings.Repeat(" ", 1<<20); ; {
			if _, err := io.WriteString(w, block); err != nil {
				h.asked <- req.URL.Path
				return
			}
		}
	case "/apis/evil.example/v1/evils":
		http.Redirect(w, req, "https://elsewhere.example/", http.StatusFound)
	default:
		h.asked <- req.URL.Path
		<-h.end
	}
}

func TestHostileServer(t *testing.T) {
	t.Parallel()
	c := start(t, apiserver.Config{})
	evil := startHostile(t)
	c.expose(t, "evil", evil.address)
	service := remoteService("evil.example", "evil", evil.ca)
	service.Spec.GroupPriorityMinimum = 20000
	c.register(t, service)
	c.register(t, remoteService("hang.example", "evil", evil.ca))
	c.condition(t, "v1.evil.example", apiregistrationv1.ConditionTrue)
	c.condition(t, "v1.hang.example", apiregistrationv1.ConditionTrue)
	// From now on this server waits for the document of hang.example, and has given up the one
	// of evil.example.
	waiting := map[string]bool{}
	for !waiting["/openapi/v3/apis/hang.example/v1"] || !waiting["/openapi/v3/apis/evil.example/v1"] {
		waiting[<-evil.asked] = true
	}
	var list *apidiscoveryv2.APIGroupDiscoveryList
	waittest.Until(t, "discovery has evil.example", func() bool {
		_, body := c.get(t, c.config, "/apis", http.Header{"Accept": {aggregatedDiscovery}})
		list = yamltest.Known[apidiscoveryv2.APIGroupDiscoveryList](t, body)
		version := versionOf(list, "evil.example")
		return version != nil && len(version.Resources) == 1
	})
	if list.Items[0].Name == "evil.example" {
		t.Error("clients prefer evil.example to the built-in groups")
	}
	paths := []string{"/apis", "/apis/apps", "/apis/apps/v1", "/openapi/v3", "/openapi/v3/apis/apps/v1", "/openapi/v2"}
	for _, path := range paths {
		status, body := c.get(t, c.config, path, http.Header{"Accept": {aggregatedDiscovery + ",application/json"}})
		if status != http.StatusOK || strings.Contains(body, "pwned") {
			t.Errorf("%s: status %d, has pwned: %t", path, status, strings.Contains(body, "pwned"))
		}
	}
	const protobuf = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
	if status, body := c.get(t, c.config, "/openapi/v2", http.Header{"Accept": {protobuf}}); status != http.StatusOK {
		t.Errorf("the v2 document in protobuf: %d %s", status, body)
	}
	if status, _ := c.get(t, c.config, "/apis/apps/v1/pwned", nil); status != http.StatusNotFound {
		t.Errorf("the claimed resource answers %d", status)
	}
	if status, body := c.get(t, c.config, "/apis/evil.example/v1/evils", nil); status != http.StatusBadGateway {
		t.Errorf("a redirect is answered with %d: %s", status, body)
	}
}
