package schema

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"holdfast.dev/holdfast/internal/definition/source"
)

// pageSize is the number of objects in one response of the server.
const pageSize = 500

// readCluster reads the objects of a kind from a server, in a version that the old definition
// serves.
func (d *diffing) readCluster(ctx context.Context, def *source.Definition) ([]map[string]any, error) {
	config, err := clusterConfig(d.kubeconfig, d.context)
	if err != nil {
		return nil, unable(err)
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, unable(err)
	}
	resource := client.Resource(runtimeschema.GroupVersionResource{
		Group: def.Spec.Group, Version: servedVersion(def), Resource: def.Spec.Names.Plural,
	})
	var objects []map[string]any
	options := metav1.ListOptions{Limit: pageSize}
	for {
		list, err := resource.List(ctx, options)
		if err != nil {
			return nil, unable(fmt.Errorf("list %s on the server: %w", def.Name, err))
		}
		for i := range list.Items {
			objects = append(objects, list.Items[i].Object)
		}
		if options.Continue = list.GetContinue(); options.Continue == "" {
			return objects, nil
		}
	}
}

// clusterConfig returns the client config of a context of a kubeconfig. Empty names stand for the defaults of kubectl.
func clusterConfig(kubeconfig, context string) (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	overrides := &clientcmd.ConfigOverrides{CurrentContext: context}
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides).ClientConfig()
}

// servedVersion returns the storage version if it is served, else the first served one.
func servedVersion(def *source.Definition) string {
	served := ""
	for _, v := range def.Spec.Versions {
		switch {
		case v.Served && v.Storage:
			return v.Name
		case v.Served && served == "":
			served = v.Name
		}
	}
	return served
}
