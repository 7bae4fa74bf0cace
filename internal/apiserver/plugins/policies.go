package plugins

import (
	"context"
	"fmt"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/openapi"
	restclient "k8s.io/client-go/rest"

	"holdfast.dev/holdfast/internal/apiserver/custom"
	"holdfast.dev/holdfast/internal/native"
)

// policyClient is the client of the plugin that evaluates admission policies. The
// plugin asks for the list of OpenAPI documents every five seconds, even without a
// policy. To answer, the server would build every document again after each change,
// since the list holds their hashes. This client answers the list itself, with the
// number of the last change in place of the hash, and asks the server only for a
// document that a policy needs.
type policyClient struct {
	kubernetes.Interface
	documents *Documents
}

// Discovery implements kubernetes.Interface.
func (c policyClient) Discovery() discovery.DiscoveryInterfaces {
	return policyDiscovery{c.Interface.Discovery(), c.documents}
}

type policyDiscovery struct {
	discovery.DiscoveryInterfaces
	documents *Documents
}

// OpenAPIV3 implements discovery.DiscoveryInterface.
func (d policyDiscovery) OpenAPIV3() openapi.Client { return d.documents }

// OpenAPIV3WithContext implements discovery.DiscoveryInterfaceWithContext.
func (d policyDiscovery) OpenAPIV3WithContext(context.Context) openapi.ClientWithContext {
	return openapi.ToClientWithContext(d.documents)
}

// Documents are the OpenAPI v3 documents that the server publishes, one for each
// group and version.
type Documents struct {
	client restclient.Interface
	native []schema.GroupVersion
	// custom is nil until the server serves custom resources.
	custom atomic.Pointer[custom.Server]
}

func newDocuments(client restclient.Interface) *Documents {
	return &Documents{client: client, native: native.NewPublishedScheme().PrioritizedVersionsAllGroups()}
}

// AddCustom adds the documents of custom resources.
func (d *Documents) AddCustom(resources *custom.Server) { d.custom.Store(resources) }

// Paths implements openapi.Client.
func (d *Documents) Paths() (map[string]openapi.GroupVersion, error) {
	paths := make(map[string]openapi.GroupVersion, len(d.native))
	for _, gv := range d.native {
		path := "apis/" + gv.String()
		if gv.Group == "" {
			path = "api/" + gv.Version
		}
		paths[path] = document{d.client, "/openapi/v3/" + path, 0}
	}
	if resources := d.custom.Load(); resources != nil {
		for gv, change := range resources.Schemas() {
			path := "apis/" + gv.String()
			paths[path] = document{d.client, "/openapi/v3/" + path, change}
		}
	}
	return paths, nil
}

// document is the OpenAPI document of one group and version, after its last change.
type document struct {
	client restclient.Interface
	path   string
	change uint64
}

// Schema implements openapi.GroupVersion.
func (d document) Schema(contentType string) ([]byte, error) {
	return d.client.Get().AbsPath(d.path).SetHeader("Accept", contentType).Do(context.Background()).Raw()
}

// ServerRelativeURL implements openapi.GroupVersion.
func (d document) ServerRelativeURL() string { return fmt.Sprintf("%s?change=%d", d.path, d.change) }
