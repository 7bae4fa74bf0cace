package served

import (
	"context"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/registry/generic"

	"holdfast.dev/holdfast/internal/apiserver/custom/answer"
	"holdfast.dev/holdfast/internal/apiserver/custom/kept"
	"holdfast.dev/holdfast/internal/apiserver/custom/kind"
	"holdfast.dev/holdfast/internal/apiserver/custom/text"
	"holdfast.dev/holdfast/internal/apiserver/fieldownership"
	"holdfast.dev/holdfast/internal/apiserver/policies"
)

// Config is what the resources of a server have in common.
type Config struct {
	Kinds kind.Config
	// RESTOptions gives each resource its storage. This package replaces the codec.
	RESTOptions generic.RESTOptionsGetter
	Admission   admission.Interface
	Authorizer  authorizer.UnconditionalAuthorizer
	// Ownership checks whether an update changes fields of other owners. It is optional.
	Ownership *fieldownership.Checker
	// Policies has the rules of ImmutabilityPolicies. It is optional.
	Policies *policies.Rules
	// ImmutabilityStatus is the HTTP status of the answer to a change that a marker forbids: 400 or 422. The default is 400.
	ImmutabilityStatus int
	// MinWatch is the shortest time that the server keeps a watch open.
	MinWatch time.Duration
	// MaxBody bounds the body of a request. Zero means no limit.
	MaxBody int64

	// BeginWrite and AwaitChange are the methods of write.Definition, for one resource.
	BeginWrite  func(ctx context.Context, r *Resource) (_ context.Context, closed, err error)
	AwaitChange func(ctx context.Context, r *Resource, err error) (changed, replaced bool)
	// FirstObject is called after a write of an object, while the definition does not have the condition StoredObjectsValid. It is optional.
	FirstObject func(definition string)
	// Anew answers a request by the resource that has replaced another one.
	Anew http.HandlerFunc

	// Format decodes and encodes all custom resources, Answers encodes answers, and Trees keeps decoded objects.
	Format  text.Format
	Answers *answer.Shared
	Trees   *kept.Trees
	// Scheme and Codecs have the types of answers that are not custom resources.
	Scheme *runtime.Scheme
	Codecs serializer.CodecFactory
}
