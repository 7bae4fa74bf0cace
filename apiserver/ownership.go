package apiserver

import (
	"context"
	"fmt"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	genericapiserver "k8s.io/apiserver/pkg/server"
	restclient "k8s.io/client-go/rest"

	"holdfast.dev/holdfast/apiserver/guard"
)

// commandResource is what the records of imperative commands are to encryption.
var commandResource = schema.GroupResource{Group: "holdfast.dev", Resource: "commands"}

// applyOwnership puts the guard of owned fields around the handlers and around
// admission.
func (s *Server) applyOwnership(config *genericapiserver.Config) error {
	mode, err := guard.ParseMode(s.config.Ownership)
	if err != nil || mode == guard.Off {
		return err
	}
	options, err := config.RESTOptionsGetter.GetRESTOptions(commandResource, &corev1.ConfigMap{})
	if err != nil {
		return err
	}
	records, destroy, err := s.storage.Storage(options.StorageConfig,
		func() runtime.Object { return &corev1.ConfigMap{} }, func() runtime.Object { return &corev1.ConfigMapList{} }, guard.Prefix)
	if err != nil {
		return fmt.Errorf("open commands: %w", err)
	}
	s.memory, s.closeMemory = guard.NewMemory(records), destroy
	s.guard = guard.New(mode, s.memory)
	config.AdmissionControl = s.guard.Admission(config.AdmissionControl)
	build, limit := config.BuildHandlerChainFunc, config.MaxRequestBodyBytes
	config.BuildHandlerChainFunc = func(handler http.Handler, c *genericapiserver.Config) http.Handler {
		return build(s.guard.Filter(handler, limit), c)
	}
	return nil
}

// rememberCommands writes down what imperative commands wrote, while the server
// runs.
func (s *Server) rememberCommands() error {
	if s.memory == nil {
		return nil
	}
	s.generic.RegisterDestroyFunc(s.closeMemory)
	client, err := restclient.HTTPClientFor(s.loopback)
	if err != nil {
		return err
	}
	return s.whileServing("remember-commands", func(ctx context.Context) {
		go s.memory.SweepUntil(ctx, guard.LookupAt(client, s.loopback.Host))
		s.memory.Run(ctx)
	})
}
