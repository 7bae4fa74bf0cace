package apiserver

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	err := s.generic.AddPostStartHook("remember-commands", func(hook genericapiserver.PostStartHookContext) error {
		client, err := restclient.HTTPClientFor(hook.LoopbackClientConfig)
		if err != nil {
			cancel()
			return err
		}
		go func() {
			defer close(done)
			s.memory.Run(ctx)
		}()
		go s.memory.SweepUntil(ctx, isThere(client, hook.LoopbackClientConfig.Host))
		return nil
	})
	if err != nil {
		cancel()
		return err
	}
	return s.generic.AddPreShutdownHook("remember-commands", func() error {
		cancel()
		select {
		case <-done:
		case <-time.After(handOver):
		}
		return nil
	})
}

// isThere asks the server itself whether an object still exists.
func isThere(client *http.Client, host string) guard.Lookup {
	return func(ctx context.Context, object guard.Object) (bool, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, host+object.Path, http.NoBody)
		if err != nil {
			return false, err
		}
		req.Header.Set("Accept", "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1")
		resp, err := client.Do(req)
		if err != nil {
			return false, err
		}
		defer func() { _ = resp.Body.Close() }()
		switch resp.StatusCode {
		case http.StatusNotFound:
			return false, nil
		case http.StatusOK:
		default:
			return false, fmt.Errorf("the server answers %s", resp.Status)
		}
		var found metav1.PartialObjectMetadata
		if err := json.NewDecoder(resp.Body).Decode(&found); err != nil {
			return false, err
		}
		return found.UID == object.UID, nil
	}
}
