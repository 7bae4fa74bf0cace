package apiserver

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/storage/value"

	"holdfast.dev/holdfast/apiserver/etcd"
)

// keyPrefix is where Kubernetes keeps its objects in etcd, so that tools
// which read an etcd of Kubernetes read ours.
const keyPrefix = "/registry"

// openEtcd starts the member in this process or connects to the cluster.
func (s *Server) openEtcd(ctx context.Context) (err error) {
	if cluster := s.config.Etcd; len(cluster.Servers) > 0 {
		s.storage, err = etcd.Connect(ctx, cluster)
		return err
	}
	if s.member, err = etcd.Start(filepath.Join(s.config.DataDir, "etcd")); err != nil {
		return err
	}
	s.storage = s.member.Client()
	return nil
}

// restOptions gives each registry its storage.
type restOptions struct {
	client *etcd.Client
	scheme *runtime.Scheme
	codecs serializer.CodecFactory
	// transformers encrypt what is stored; nil stores it as it is.
	transformers value.ResourceTransformers
	// observers see all changes of a resource.
	observers map[schema.GroupResource]observer
}

// GetRESTOptions implements generic.RESTOptionsGetter. Objects are stored in the
// version of the example: built-in kinds as protobuf, definitions as JSON. The
// codec of custom resources is brought by whoever serves them.
func (o restOptions) GetRESTOptions(resource schema.GroupResource, example runtime.Object) (generic.RESTOptions, error) {
	// The resource alone, as Kubernetes lays out the kinds it ships.
	options := generic.RESTOptions{ResourcePrefix: resource.Resource}
	if example == nil {
		return options, nil
	}
	config := storagebackend.NewDefaultConfig(keyPrefix, nil).ForResource(resource)
	if o.transformers != nil {
		config.Transformer = o.transformers.TransformerForResource(resource)
	}
	options.StorageConfig = config
	options.Decorator = withBoundedHistory(o.client, o.observers[resource])
	options.DeleteCollectionWorkers = 1
	options.EnableGarbageCollection = true
	options.CountMetricPollPeriod = time.Minute
	if _, ok := example.(runtime.Unstructured); ok {
		options.ResourcePrefix = resource.Group + "/" + resource.Resource
		return options, nil
	}
	mediaType := runtime.ContentTypeProtobuf
	if resource == definitionResource {
		mediaType = runtime.ContentTypeJSON
		options.ResourcePrefix = resource.Group + "/" + resource.Resource
	}
	gvks, _, err := o.scheme.ObjectKinds(example)
	if err != nil {
		return options, err
	}
	stored := gvks[0].GroupVersion()
	for _, gvk := range gvks {
		if gvk.Group == resource.Group && gvk.Version != runtime.APIVersionInternal {
			stored = gvk.GroupVersion()
		}
	}
	internal := schema.GroupVersion{Group: stored.Group, Version: runtime.APIVersionInternal}
	info, ok := runtime.SerializerInfoForMediaType(o.codecs.SupportedMediaTypes(), mediaType)
	if !ok {
		return options, fmt.Errorf("no serializer for %s", mediaType)
	}
	config.Codec = o.codecs.CodecForVersions(info.Serializer, o.codecs.UniversalDeserializer(), stored, internal)
	config.EncodeVersioner = stored
	return options, nil
}
