package guard

import (
	"fmt"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// connection holds the flags that select a server.
type connection struct{ kubeconfig, context string }

func (c *connection) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&c.kubeconfig, "kubeconfig", "", "kubeconfig to use (default: $KUBECONFIG, or ~/.kube/config)")
	flags.StringVar(&c.context, "context", "", "context of the kubeconfig (default: its current one)")
}

// config returns the client config of the server. Inside a pod without a kubeconfig it is the service
// account of the pod.
func (c *connection) config() (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = c.kubeconfig
	overrides := &clientcmd.ConfigOverrides{CurrentContext: c.context}
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	return config, nil
}

// resources holds the flag that excludes resources.
type resources struct{ names []string }

func (r *resources) addFlags(flags *pflag.FlagSet) {
	flags.StringSliceVar(&r.names, "exclude-resources", nil, "resources that are not guarded, as kubectl writes them: deployments.apps,configmaps")
}

func (r *resources) parsed() []schema.GroupResource {
	var out []schema.GroupResource
	for _, name := range r.names {
		out = append(out, schema.ParseGroupResource(name))
	}
	return out
}
