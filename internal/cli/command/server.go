package command

import (
	"errors"
	"fmt"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Server is the flags that select a server, and for commands about a namespace that namespace. They have the names that kubectl gives them.
type Server struct {
	Kubeconfig, Context, Namespace string
	// AllNamespaces is the flag -A.
	AllNamespaces bool
}

// AddFlags adds --kubeconfig and --context.
func (s *Server) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&s.Kubeconfig, "kubeconfig", "", "kubeconfig to use (default: $KUBECONFIG, or ~/.kube/config)")
	flags.StringVar(&s.Context, "context", "", "context of the kubeconfig (default: its current one)")
}

// AddNamespaceFlags adds -n too.
func (s *Server) AddNamespaceFlags(flags *pflag.FlagSet) {
	s.AddFlags(flags)
	flags.StringVarP(&s.Namespace, "namespace", "n", "", "namespace (default: that of the context)")
}

// AddAllNamespacesFlag adds -A.
func (s *Server) AddAllNamespacesFlag(flags *pflag.FlagSet) {
	flags.BoolVarP(&s.AllNamespaces, "all-namespaces", "A", false, "all namespaces")
}

// Loader returns a loader of the kubeconfig. Inside a pod without a kubeconfig it uses the service account of the pod.
func (s *Server) Loader() clientcmd.ClientConfig {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = s.Kubeconfig
	overrides := &clientcmd.ConfigOverrides{CurrentContext: s.Context}
	overrides.Context.Namespace = s.Namespace
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides)
}

// Config returns the client config of the server.
func (s *Server) Config() (*rest.Config, error) {
	config, err := s.Loader().ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("your kubeconfig: %w", Unable(err))
	}
	return config, nil
}

// Getter returns what the packages of kubectl need to connect to the server.
func (s *Server) Getter() Getter {
	flags := genericclioptions.NewConfigFlags(true).WithDiscoveryBurst(300).WithDiscoveryQPS(50)
	flags.KubeConfig, flags.Context, flags.Namespace = &s.Kubeconfig, &s.Context, &s.Namespace
	return Getter{flags}
}

// Getter selects a server by the flags of kubectl, for the packages of kubectl. Unlike kubectl it takes no server at localhost:8080 if there is
// no kubeconfig.
type Getter struct{ *genericclioptions.ConfigFlags }

// check returns an error if nothing selects a server.
func (g Getter) check() error {
	if g.APIServer != nil && *g.APIServer != "" {
		return nil
	}
	s := Server{}
	if g.KubeConfig != nil {
		s.Kubeconfig = *g.KubeConfig
	}
	if g.Context != nil {
		s.Context = *g.Context
	}
	if _, err := s.Loader().ClientConfig(); errors.Is(err, clientcmd.ErrEmptyConfig) {
		return Unable(err)
	}
	return nil
}

// ToRESTConfig implements genericclioptions.RESTClientGetter.
func (g Getter) ToRESTConfig() (*rest.Config, error) {
	if err := g.check(); err != nil {
		return nil, err
	}
	return g.ConfigFlags.ToRESTConfig()
}

// ToDiscoveryClient implements genericclioptions.RESTClientGetter.
func (g Getter) ToDiscoveryClient() (discovery.CachedDiscoveryInterface, error) {
	if err := g.check(); err != nil {
		return nil, err
	}
	return g.ConfigFlags.ToDiscoveryClient()
}

// ToRESTMapper implements genericclioptions.RESTClientGetter.
func (g Getter) ToRESTMapper() (meta.RESTMapper, error) {
	if err := g.check(); err != nil {
		return nil, err
	}
	return g.ConfigFlags.ToRESTMapper()
}
