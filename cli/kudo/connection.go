package kudo

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"holdfast.dev/holdfast/operator/api"
)

// The resources of the three kinds.
const (
	operators        = "operators"
	operatorVersions = "operatorversions"
	instances        = "instances"
)

// connection says which server, and which namespace there.
type connection struct {
	kubeconfig, context, namespace string
}

func (c *connection) addFlags(flags *pflag.FlagSet) {
	c.addServerFlags(flags)
	flags.StringVarP(&c.namespace, "namespace", "n", "", "namespace (default: that of the context)")
}

// addServerFlags adds those of a command that is about no one namespace.
func (c *connection) addServerFlags(flags *pflag.FlagSet) {
	flags.StringVar(&c.kubeconfig, "kubeconfig", "", "kubeconfig to use (default: $KUBECONFIG, or ~/.kube/config)")
	flags.StringVar(&c.context, "context", "", "context of the kubeconfig (default: its current one)")
}

// loader reads the kubeconfig; inside of a pod without one, its account.
func (c *connection) loader() clientcmd.ClientConfig {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = c.kubeconfig
	overrides := &clientcmd.ConfigOverrides{CurrentContext: c.context}
	overrides.Context.Namespace = c.namespace
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides)
}

// config is the way to the server.
func (c *connection) config() (*rest.Config, error) {
	config, err := c.loader().ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	return config, nil
}

// server is a connection, made.
type server struct {
	rest.Interface
	namespace string
}

func (c *connection) connect() (*server, error) {
	config, err := c.config()
	if err != nil {
		return nil, err
	}
	namespace, _, err := c.loader().Namespace()
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	scheme := runtime.NewScheme()
	if err := api.AddToScheme(scheme); err != nil {
		return nil, err
	}
	// Errors come as a Status of v1.
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	// A package that needs others takes some requests for each; the server has
	// limits of its own.
	config.QPS = -1
	config.GroupVersion = &api.GroupVersion
	config.APIPath = "/apis"
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	made, err := rest.RESTClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	return &server{Interface: made, namespace: namespace}, nil
}

// online is a command that needs the server.
func (c *connection) online(run func(cmd *cobra.Command, s *server, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		s, err := c.connect()
		if err != nil {
			return err
		}
		return run(cmd, s, args)
	}
}

// about is a command that is about an Instance, its first argument.
func (c *connection) about(run func(cmd *cobra.Command, s *server, instance *api.Instance) error) func(*cobra.Command, []string) error {
	return c.online(func(cmd *cobra.Command, s *server, args []string) error {
		instance, err := s.instance(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		return run(cmd, s, instance)
	})
}

func (s *server) get(ctx context.Context, resource, name string, into runtime.Object) error {
	return s.served(s.Get().Namespace(s.namespace).Resource(resource).Name(name).Do(ctx).Into(into))
}

func (s *server) list(ctx context.Context, resource string, into runtime.Object) error {
	return s.served(s.Get().Namespace(s.namespace).Resource(resource).Do(ctx).Into(into))
}

func (s *server) create(ctx context.Context, resource string, object runtime.Object) error {
	return s.served(s.Post().Namespace(s.namespace).Resource(resource).Body(object).Do(ctx).Into(object))
}

func (s *server) replace(ctx context.Context, instance *api.Instance) error {
	return s.Put().Namespace(s.namespace).Resource(instances).Name(instance.Name).Body(instance).Do(ctx).Into(instance)
}

// remove deletes an object, if it is still the one that was seen.
func (s *server) remove(ctx context.Context, resource string, object metav1.Object) error {
	uid := object.GetUID()
	options := &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}}
	return s.Delete().Namespace(s.namespace).Resource(resource).Name(object.GetName()).Body(options).Do(ctx).Error()
}

// instance reads an Instance.
func (s *server) instance(ctx context.Context, name string) (*api.Instance, error) {
	instance := &api.Instance{}
	err := s.get(ctx, instances, name, instance)
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("there is no instance %s in namespace %s", name, s.namespace)
	}
	return instance, err
}

// version reads an OperatorVersion, nil if there is none.
func (s *server) version(ctx context.Context, name string) (*api.OperatorVersion, error) {
	version := &api.OperatorVersion{}
	err := s.get(ctx, operatorVersions, name, version)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return version, err
}

// served says what it means that the kinds themselves are not there, which a
// server puts as plainly as that an object is not.
func (s *server) served(err error) error {
	status, ok := err.(apierrors.APIStatus)
	if ok && apierrors.IsNotFound(err) && (status.Status().Details == nil || status.Status().Details.Name == "") {
		return fmt.Errorf("the server does not serve %s, or there is no namespace %s: %s", api.GroupVersion, s.namespace, err.Error())
	}
	return err
}
