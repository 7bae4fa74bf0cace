package kudo

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/api"
	"holdfast.dev/holdfast/internal/cli/command"
	"holdfast.dev/holdfast/parameters"
)

// The resources of the three kinds.
const (
	operators        = "operators"
	operatorVersions = "operatorversions"
	instances        = "instances"
)

// connection holds the flags that select a server and a namespace.
type connection struct{ command.Server }

// agent is the name of the commands in managed fields and audit logs.
const agent = "holdfast-kudo"

// config returns the client config of the server.
func (c *connection) config() (*rest.Config, error) {
	config, err := c.Config()
	if err != nil {
		return nil, err
	}
	config.UserAgent = agent
	return config, nil
}

// server is a client for the three kinds in one namespace of a server.
type server struct {
	rest.Interface
	namespace string
	// dryRun says whether the server stores what the client writes. With client, no write is sent.
	dryRun command.DryRun
}

// connect returns a client for the selected server and namespace.
func (c *connection) connect() (*server, error) {
	config, err := c.config()
	if err != nil {
		return nil, err
	}
	namespace, _, err := c.Loader().Namespace()
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	scheme := runtime.NewScheme()
	if err := api.AddToScheme(scheme); err != nil {
		return nil, err
	}
	// Error responses have the kind Status of v1.
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	// A package with many dependencies needs many requests, so the client does not limit
	// the rate. The server has limits of its own.
	config.QPS = -1
	config.GroupVersion = &api.GroupVersion
	config.APIPath = "/apis"
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	client, err := rest.RESTClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	return &server{Interface: client, namespace: namespace}, nil
}

// runFunc is the function of a cobra command.
type runFunc func(cmd *cobra.Command, args []string) error

// withServer returns the function of a command that needs a server.
func (c *connection) withServer(run func(cmd *cobra.Command, s *server, args []string) error) runFunc {
	return func(cmd *cobra.Command, args []string) error {
		s, err := c.connect()
		if err != nil {
			return err
		}
		return run(cmd, s, args)
	}
}

func (s *server) get(ctx context.Context, resource, name string, into runtime.Object) error {
	return s.explainNotFound(s.Get().Namespace(s.namespace).Resource(resource).Name(name).Do(ctx).Into(into))
}

func (s *server) list(ctx context.Context, resource string, into runtime.Object) error {
	return s.explainNotFound(s.Get().Namespace(s.namespace).Resource(resource).Do(ctx).Into(into))
}

func (s *server) create(ctx context.Context, resource string, object runtime.Object) error {
	if !s.dryRun.Sends() {
		return nil
	}
	request := s.tried(s.Post()).Namespace(s.namespace).Resource(resource)
	return s.explainNotFound(request.Body(object).Do(ctx).Into(object))
}

func (s *server) replace(ctx context.Context, instance *api.Instance) error {
	if !s.dryRun.Sends() {
		return nil
	}
	return s.tried(s.Put()).Namespace(s.namespace).Resource(instances).Name(instance.Name).Body(instance).Do(ctx).Into(instance)
}

// tried makes a write a dry run, if the command is one.
func (s *server) tried(request *rest.Request) *rest.Request {
	for _, value := range s.dryRun.Options() {
		request.Param("dryRun", value)
	}
	return request
}

// remove deletes an object if it still has the same UID.
func (s *server) remove(ctx context.Context, resource string, object metav1.Object) error {
	if !s.dryRun.Sends() {
		return nil
	}
	uid := object.GetUID()
	options := &metav1.DeleteOptions{DryRun: s.dryRun.Options(), Preconditions: &metav1.Preconditions{UID: &uid}}
	return s.Delete().Namespace(s.namespace).Resource(resource).Name(object.GetName()).Body(options).Do(ctx).Error()
}

// instance reads an Instance; it is an error if there is none.
func (s *server) instance(ctx context.Context, name string) (*api.Instance, error) {
	instance := &api.Instance{}
	err := s.get(ctx, instances, name, instance)
	if apierrors.IsNotFound(err) {
		var list api.InstanceList
		if err := s.list(ctx, instances, &list); err != nil {
			list = api.InstanceList{} // the user may not list them
		}
		var known []string
		for i := range list.Items {
			known = append(known, list.Items[i].Name)
		}
		return nil, noInstanceError(fmt.Sprintf("there is no instance %s in namespace %s: \"holdfast kudo get\" lists those that exist%s",
			name, s.namespace, parameters.Suggestion(name, known)))
	}
	return instance, err
}

// noInstanceError means that there is no Instance with a name. Its text is the message.
type noInstanceError string

// Error returns the message.
func (e noInstanceError) Error() string { return string(e) }

// version reads the OperatorVersion with a key, nil if there is none: see
// api.Instance.VersionKey.
func (s *server) version(ctx context.Context, key string) (*api.OperatorVersion, error) {
	version := &api.OperatorVersion{}
	namespace, name := api.SplitVersionKey(key, s.namespace)
	in := &server{Interface: s.Interface, namespace: namespace, dryRun: s.dryRun}
	err := in.get(ctx, operatorVersions, name, version)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return version, err
}

// explainNotFound returns a clearer error if the kinds or the namespace do not exist. The
// server answers that with the same status as a missing object, but without a name.
func (s *server) explainNotFound(err error) error {
	status, ok := err.(apierrors.APIStatus)
	if ok && apierrors.IsNotFound(err) && (status.Status().Details == nil || status.Status().Details.Name == "") {
		return fmt.Errorf("the server does not serve %s, or there is no namespace %s: %s", api.GroupVersion, s.namespace, err.Error())
	}
	return err
}
