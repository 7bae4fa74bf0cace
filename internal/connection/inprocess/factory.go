package inprocess

import (
	"reflect"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/informers/admissionregistration"
	"k8s.io/client-go/informers/certificates"
	"k8s.io/client-go/informers/core"
	"k8s.io/client-go/informers/flowcontrol"
	"k8s.io/client-go/informers/internalinterfaces"
	"k8s.io/client-go/informers/networking"
	"k8s.io/client-go/informers/node"
	"k8s.io/client-go/informers/rbac"
	"k8s.io/client-go/informers/resource"
	"k8s.io/client-go/informers/scheduling"
	"k8s.io/client-go/informers/storage"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"holdfast.dev/holdfast/internal/connection"
	"holdfast.dev/holdfast/internal/native"
)

// newFactory returns a factory of informers that read from source.
func newFactory(server *connection.Connection, source Source) informers.SharedInformerFactory {
	all := informers.NewSharedInformerFactory(server.Typed, 0)
	resources := map[reflect.Type]schema.GroupVersionResource{}
	for _, kind := range native.Kinds() {
		resources[reflect.TypeOf(kind.Object)] = kind.GroupVersion.WithResource(kind.Resource)
	}
	return factory{all, groups{all, server, source, resources}}
}

// factory returns the informers of the API groups of which the server has informers.
type factory struct {
	informers.SharedInformerFactory
	groups groups
}

func (f factory) Admissionregistration() admissionregistration.Interface {
	return admissionregistration.New(f.groups, metav1.NamespaceAll, nil)
}

func (f factory) Certificates() certificates.Interface {
	return certificates.New(f.groups, metav1.NamespaceAll, nil)
}

func (f factory) Core() core.Interface { return core.New(f.groups, metav1.NamespaceAll, nil) }

func (f factory) Flowcontrol() flowcontrol.Interface {
	return flowcontrol.New(f.groups, metav1.NamespaceAll, nil)
}

func (f factory) Networking() networking.Interface {
	return networking.New(f.groups, metav1.NamespaceAll, nil)
}

func (f factory) Node() node.Interface { return node.New(f.groups, metav1.NamespaceAll, nil) }

func (f factory) Rbac() rbac.Interface { return rbac.New(f.groups, metav1.NamespaceAll, nil) }

func (f factory) Resource() resource.Interface {
	return resource.New(f.groups, metav1.NamespaceAll, nil)
}

func (f factory) Scheduling() scheduling.Interface {
	return scheduling.New(f.groups, metav1.NamespaceAll, nil)
}

func (f factory) Storage() storage.Interface { return storage.New(f.groups, metav1.NamespaceAll, nil) }

// groups creates the informers of all objects of a kind, for the API groups of a factory.
type groups struct {
	internalinterfaces.SharedInformerFactory
	server    *connection.Connection
	source    Source
	resources map[reflect.Type]schema.GroupVersionResource
}

// InformerFor implements internalinterfaces.SharedInformerFactory.
func (g groups) InformerFor(obj runtime.Object, create internalinterfaces.NewInformerFunc) cache.SharedIndexInformer {
	if kind, ok := g.resources[reflect.TypeOf(obj)]; ok {
		create = func(_ kubernetes.Interface, resync time.Duration) cache.SharedIndexInformer {
			return cache.NewSharedIndexInformer(objects{g.server, g.source, kind}.listWatch(), obj, resync,
				cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
		}
	}
	return g.SharedInformerFactory.InformerFor(obj, create)
}
