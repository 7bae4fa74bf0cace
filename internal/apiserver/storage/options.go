package storage

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/storage/value"
	fcrequest "k8s.io/apiserver/pkg/util/flowcontrol/request"

	"holdfast.dev/holdfast/internal/apiserver/envelope"
	"holdfast.dev/holdfast/internal/apiserver/etcd"
	"holdfast.dev/holdfast/internal/apiserver/sharing"
)

// KeyPrefix is the prefix of all keys in etcd. It is the one of Kubernetes, so that
// tools which read the etcd of a Kubernetes cluster read ours.
const KeyPrefix = "/registry"

// InternalPrefix follows KeyPrefix in the keys of records that the server keeps for itself. The
// key of a built-in kind continues with the name of its resource, and the key of a custom
// resource with its API group. Neither can contain an underscore, so no definition can get at
// these records.
const InternalPrefix = "/_holdfast"

const (
	// HistoryPrefix is the prefix of the keys of the history of objects. A key continues with the resource, by which it is encrypted.
	HistoryPrefix = KeyPrefix + InternalPrefix + "/history/"
	// HistoryKey is the key of the secret by which history compares the values of Secrets. It is encrypted like a Secret.
	HistoryKey = KeyPrefix + InternalPrefix + "/history-key"
	// ReplacedPrefix is the prefix of the keys of the records of package replacement. A key ends with the UID of the replaced object.
	ReplacedPrefix = KeyPrefix + InternalPrefix + "/replaced/"
)

// customPrefix returns the part of the keys of custom resources that follows KeyPrefix.
func customPrefix(resource schema.GroupResource) string {
	return resource.Group + "/" + resource.Resource
}

// KeyOf returns the key of a cluster-scoped object that is stored as JSON.
func KeyOf(resource schema.GroupResource, name string) string {
	return KeyPrefix + "/" + customPrefix(resource) + "/" + name
}

// Options gives each registry its storage. Its fields must not change after the first use.
type Options struct {
	Client *etcd.Client
	Scheme *runtime.Scheme
	Codecs serializer.CodecFactory
	// Transformers encrypt objects before they are stored; nil stores them as they
	// are.
	Transformers value.ResourceTransformers
	// Observers see all changes of a resource.
	Observers map[schema.GroupResource]Observer
	// Recorder records the writes of all resources; nil records none.
	Recorder Recorder
	// Counts records the number of stored objects; priority and fairness estimates the
	// cost of lists from it.
	Counts fcrequest.StorageObjectCountTracker
	// WatchCaches collects the watch caches, for audits. It may be nil.
	WatchCaches *WatchCaches
	// Shared lets the objects in the watch caches of built-in kinds share equal parts; nil does not.
	Shared *sharing.Objects
	// JSON lists the resources with Go types that have no protobuf encoding. They are
	// stored as JSON, under a key that names their API group.
	JSON []schema.GroupResource
	// Decoders return quicker decoders for stored objects of some resources than the decoder of all objects. It may be nil.
	Decoders map[schema.GroupResource]func(runtime.Decoder) runtime.Decoder
}

// Recorder records the writes of objects.
type Recorder interface {
	// Record returns a storage that records the writes to another one.
	Record(raw storage.Interface, of Recorded) storage.Interface
}

// Recorded is a resource whose writes are recorded.
type Recorded struct {
	Resource schema.GroupResource
	// Kind is that of the objects of a built-in kind, in the version in which they are stored.
	Kind  schema.GroupVersionKind
	Codec runtime.Codec
	New   func() runtime.Object
}

// GetRESTOptions implements generic.RESTOptionsGetter. Objects are stored in the
// version of the example, as protobuf unless JSON lists their resource. Package
// custom adds the codec of custom resources.
func (o Options) GetRESTOptions(resource schema.GroupResource, example runtime.Object) (generic.RESTOptions, error) {
	// The key of a built-in kind has no group, as in Kubernetes.
	options := generic.RESTOptions{ResourcePrefix: resource.Resource}
	if example == nil {
		return options, nil
	}
	config := storagebackend.NewDefaultConfig(KeyPrefix, nil).ForResource(resource)
	if o.Transformers != nil {
		config.Transformer = o.Transformers.TransformerForResource(resource)
	}
	options.StorageConfig = config
	options.Decorator = o.decorator(resource, schema.GroupVersionKind{})
	options.DeleteCollectionWorkers = 1
	options.EnableGarbageCollection = true
	options.CountMetricPollPeriod = time.Minute
	options.StorageObjectCountTracker = o.Counts
	if _, ok := example.(runtime.Unstructured); ok {
		options.ResourcePrefix = customPrefix(resource)
		return options, nil
	}
	mediaType := runtime.ContentTypeProtobuf
	if slices.Contains(o.JSON, resource) {
		mediaType = runtime.ContentTypeJSON
		options.ResourcePrefix = customPrefix(resource)
	}
	gvks, _, err := o.Scheme.ObjectKinds(example)
	if err != nil {
		return options, err
	}
	kind, stored := gvks[0].Kind, gvks[0].GroupVersion()
	for _, gvk := range gvks {
		if gvk.Group == resource.Group && gvk.Version != runtime.APIVersionInternal {
			kind, stored = gvk.Kind, gvk.GroupVersion()
		}
	}
	internal := schema.GroupVersion{Group: stored.Group, Version: runtime.APIVersionInternal}
	info, ok := runtime.SerializerInfoForMediaType(o.Codecs.SupportedMediaTypes(), mediaType)
	if !ok {
		return options, fmt.Errorf("no serializer for %s", mediaType)
	}
	decoder := o.Codecs.UniversalDeserializer()
	if quick := o.Decoders[resource]; quick != nil {
		decoder = quick(decoder)
	}
	config.Codec = o.Codecs.CodecForVersions(info.Serializer, decoder, stored, internal)
	if mediaType == runtime.ContentTypeProtobuf {
		config.Codec = envelope.New(config.Codec, o.Scheme, stored.WithKind(kind))
	}
	config.EncodeVersioner = stored
	options.Decorator = o.decorator(resource, stored.WithKind(kind))
	return options, nil
}
