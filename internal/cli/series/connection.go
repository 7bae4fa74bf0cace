package series

import (
	"context"
	"fmt"
	"io"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/internal/cli/command"
	"holdfast.dev/holdfast/internal/references"
	"holdfast.dev/holdfast/ownership"
)

// connection has the flags that select a server and a namespace.
type connection struct{ command.Server }

// server is a server with a namespace.
type server struct {
	genericclioptions.RESTClientGetter
	dynamic   dynamic.Interface
	metadata  metadata.Interface
	raw       rest.Interface
	namespace string
	// types and rules are what the server says about kinds, as far as they were read.
	types map[schema.GroupVersion]managedfields.TypeConverter
	rules map[schema.GroupResource]*references.Rules
}

// connect returns the selected server. Warnings of the server are written to out.
func (c *connection) connect(out io.Writer) (*server, error) {
	getter := c.Getter()
	getter.WithWrapConfigFn(func(config *rest.Config) *rest.Config {
		config.QPS = -1 // the server has limits of its own
		config.WarningHandler = warnings{rest.NewWarningWriter(out, rest.WarningWriterOptions{Deduplicate: true})}
		return config
	})
	config, err := getter.ToRESTConfig()
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	s := &server{
		RESTClientGetter: getter,
		types:            map[schema.GroupVersion]managedfields.TypeConverter{}, rules: map[schema.GroupResource]*references.Rules{},
	}
	if s.namespace, _, err = getter.ToRawKubeConfigLoader().Namespace(); err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	if s.dynamic, err = dynamic.NewForConfig(config); err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	if s.metadata, err = metadata.NewForConfig(config); err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	discovery, err := getter.ToDiscoveryClient()
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	s.raw = discovery.RESTClient()
	return s, nil
}

// warnings drops the warnings about the owners of fields: the commands say themselves which fields they take over.
type warnings struct{ rest.WarningHandler }

// HandleWarningHeader implements rest.WarningHandler.
func (w warnings) HandleWarningHeader(code int, agent, text string) {
	if !ownership.IsWarning(text) {
		w.WarningHandler.HandleWarningHeader(code, agent, text)
	}
}

// objects returns the client of the ConfigMaps or Secrets of the namespace.
func (s *server) objects(kind references.Kind) dynamic.ResourceInterface {
	return s.dynamic.Resource(resourceOf(kind)).Namespace(s.namespace)
}

// absent returns the error of a command that has found nothing: that the namespace does not exist, or else the given one.
func (s *server) absent(ctx context.Context, otherwise error) error {
	_, err := s.dynamic.Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}).Get(ctx, s.namespace, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return refused("the namespace %s does not exist: name another one with -n", s.namespace)
	}
	return otherwise // another error may be that the user may not read namespaces
}

// get reads a path of the server.
func (s *server) get(ctx context.Context, path string) ([]byte, error) {
	return s.raw.Get().AbsPath(path).SetHeader("Accept", "application/json").Do(ctx).Raw()
}

// withRight adds to an error about a missing right what the user can do.
func withRight(err error) error {
	if apierrors.IsForbidden(err) {
		return fmt.Errorf("%w: an administrator can grant this with a Role and a RoleBinding", err)
	}
	return err
}
