package apiserver

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

// ownershipStage is the check of field ownership. All its fields except documents are nil if the check is
// off.
type ownershipStage struct {
	checker *fieldownership.Checker
	// documents has the schemas that admission policies are checked with.
	documents *openAPIDocuments
	// memory knows which command wrote which field.
	memory *fieldownership.Memory
	// closeMemory closes the storage of memory.
	closeMemory func()
}

// applyOwnership puts the check of field ownership around the handlers and around
// admission.
func applyOwnership(b start.Base) (ownershipStage, error) {
	mode, err := judgement.ParseMode(b.Config.Ownership)
	if err != nil || mode == judgement.Off {
		return ownershipStage{}, err
	}
	options, err := b.Generic.RESTOptionsGetter.GetRESTOptions(commandResource, &corev1.ConfigMap{})
	if err != nil {
		return ownershipStage{}, err
	}
	records, destroy, err := b.Etcd.Storage(options.StorageConfig,
		func() runtime.Object { return &corev1.ConfigMap{} },
		func() runtime.Object { return &corev1.ConfigMapList{} }, fieldownership.Prefix)
	if err != nil {
		return ownershipStage{}, fmt.Errorf("open commands: %w", err)
	}
	memory := fieldownership.NewMemory(records)
	checker := fieldownership.New(mode, memory)
	b.Metrics.MustRegister(checker.Findings())
	b.Generic.AdmissionControl = checker.Admission(b.Generic.AdmissionControl)
	inner, limit := b.Generic.BuildHandlerChainFunc, b.Generic.MaxRequestBodyBytes
	b.Generic.BuildHandlerChainFunc = func(handler http.Handler, c *genericapiserver.Config) http.Handler {
		return inner(checker.Filter(handler, limit), c)
	}
	return ownershipStage{checker: checker, memory: memory, closeMemory: destroy}, nil
}

// rememberCommands records which commands wrote which fields, while the server runs.
func rememberCommands(h *start.Hooks, owned ownershipStage, lookup fieldownership.Lookup) error {
	if owned.memory == nil {
		return nil
	}
	h.OnDestroy(owned.closeMemory)
	return h.WhileServing("remember-commands", func(ctx context.Context) {
		go owned.memory.SweepUntil(ctx, lookup)
		owned.memory.Run(ctx)
	})
}
