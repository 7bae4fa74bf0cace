package plugins

import (
	"context"
	"fmt"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	genericapiserver "k8s.io/apiserver/pkg/server"

	"holdfast.dev/holdfast/internal/apiserver/fieldownership"
	"holdfast.dev/holdfast/internal/apiserver/start"
	"holdfast.dev/holdfast/internal/native/judgement"
)

// commandResource is the resource that an encryption configuration names to encrypt
// the records of imperative commands.
var commandResource = schema.GroupResource{Group: "holdfast.dev", Resource: "commands"}

// commands are the records of the commands that wrote fields.
type commands struct {
	memory *fieldownership.Memory
	// close closes the storage of memory.
	close func()
}

// applyOwnership puts the check of field ownership around the handlers and around
// admission. It returns nil if the check is off.
func applyOwnership(b start.Base) (*fieldownership.Checker, *commands, error) {
	mode, err := judgement.ParseMode(b.Config.Ownership)
	if err != nil || mode == judgement.Off {
		return nil, nil, err
	}
	options, err := b.Generic.RESTOptionsGetter.GetRESTOptions(commandResource, &corev1.ConfigMap{})
	if err != nil {
		return nil, nil, err
	}
	records, destroy, err := b.Etcd.Storage(options.StorageConfig,
		func() runtime.Object { return &corev1.ConfigMap{} },
		func() runtime.Object { return &corev1.ConfigMapList{} }, fieldownership.Prefix)
	if err != nil {
		return nil, nil, fmt.Errorf("open commands: %w", err)
	}
	memory := fieldownership.NewMemory(records)
	checker := fieldownership.New(mode, memory)
	b.Metrics.MustRegister(checker.Findings())
	b.Generic.AdmissionControl = checker.Admission(b.Generic.AdmissionControl)
	inner, limit := b.Generic.BuildHandlerChainFunc, b.Generic.MaxRequestBodyBytes
	b.Generic.BuildHandlerChainFunc = func(handler http.Handler, c *genericapiserver.Config) http.Handler {
		return inner(checker.Filter(handler, limit), c)
	}
	return checker, &commands{memory: memory, close: destroy}, nil
}

// RememberCommands records which commands wrote which fields, while the server runs.
func (s Stage) RememberCommands(h *start.Hooks, lookup fieldownership.Lookup) error {
	if s.commands == nil {
		return nil
	}
	h.OnDestroy(s.commands.close)
	return h.WhileServing("remember-commands", func(ctx context.Context) {
		go s.commands.memory.SweepUntil(ctx, lookup)
		s.commands.memory.Run(ctx)
	})
}
