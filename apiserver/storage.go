package apiserver

import (
	"context"
	"fmt"
	"strings"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/server/egressselector"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/storage/value"

	"holdfast.dev/holdfast/apiserver/etcd"
)

const (
	// keyPrefix is where Kubernetes keeps its objects in etcd, so that tools
	// which read an etcd of Kubernetes read ours.
	keyPrefix = "/registry"
	// etcdTimeout is how long a start waits for an etcd cluster to answer.
	etcdTimeout = 5 * time.Second
)

// storageConfig is the way to etcd: the member in this process, or a cluster.
func storageConfig(config EtcdConfig, member *etcd.Member) storagebackend.Config {
	storage := storagebackend.NewDefaultConfig(keyPrefix, nil)
	if member == nil {
		storage.Transport.ServerList = config.Servers
		storage.Transport.TrustedCAFile = config.CAFile
		storage.Transport.CertFile, storage.Transport.KeyFile = config.CertFile, config.KeyFile
		return *storage
	}
	storage.Transport.ServerList = []string{member.Endpoint()}
	storage.Transport.EgressLookup = func(egressselector.NetworkContext) (utilnet.DialFunc, error) {
		return member.Dial, nil
	}
	return *storage
}

// checkEtcd asks an etcd cluster for an answer, so that an unreachable one ends
// the start with a clear line instead of minutes of retries.
func checkEtcd(ctx context.Context, config EtcdConfig) error {
	servers := strings.Join(config.Servers, ",")
	settings := clientv3.Config{Endpoints: config.Servers, DialTimeout: etcdTimeout, Logger: zap.NewNop()}
	if config.CAFile != "" || config.CertFile != "" {
		files := transport.TLSInfo{CertFile: config.CertFile, KeyFile: config.KeyFile, TrustedCAFile: config.CAFile}
		tls, err := files.ClientConfig()
		if err != nil {
			return fmt.Errorf("etcd at %s: certificates: %w", servers, err)
		}
		settings.TLS = tls
	}
	client, err := clientv3.New(settings)
	if err != nil {
		return fmt.Errorf("etcd at %s: %w", servers, err)
	}
	defer func() { _ = client.Close() }()
	ctx, cancel := context.WithTimeout(ctx, etcdTimeout)
	defer cancel()
	if _, err := client.Get(ctx, keyPrefix); err != nil {
		return fmt.Errorf("etcd at %s: no answer within %s: %w", servers, etcdTimeout, err)
	}
	return nil
}

// restOptions gives each registry its storage.
type restOptions struct {
	config storagebackend.Config
	scheme *runtime.Scheme
	codecs serializer.CodecFactory
	// transformers encrypt what is stored; nil stores it as it is.
	transformers value.ResourceTransformers
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
	config := o.config.ForResource(resource)
	if o.transformers != nil {
		config.Transformer = o.transformers.TransformerForResource(resource)
	}
	options.StorageConfig = config
	options.Decorator = withBoundedHistory()
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
