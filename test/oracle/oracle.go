package main

import (
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/authentication/user"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	_ "k8s.io/kubernetes/pkg/apis/admissionregistration/install"
	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	_ "k8s.io/kubernetes/pkg/apis/authentication/install"
	_ "k8s.io/kubernetes/pkg/apis/authorization/install"
	_ "k8s.io/kubernetes/pkg/apis/autoscaling/install"
	_ "k8s.io/kubernetes/pkg/apis/batch/install"
	_ "k8s.io/kubernetes/pkg/apis/certificates/install"
	_ "k8s.io/kubernetes/pkg/apis/coordination/install"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	_ "k8s.io/kubernetes/pkg/apis/discovery/install"
	_ "k8s.io/kubernetes/pkg/apis/events/install"
	_ "k8s.io/kubernetes/pkg/apis/flowcontrol/install"
	_ "k8s.io/kubernetes/pkg/apis/networking/install"
	_ "k8s.io/kubernetes/pkg/apis/node/install"
	_ "k8s.io/kubernetes/pkg/apis/policy/install"
	_ "k8s.io/kubernetes/pkg/apis/rbac/install"
	_ "k8s.io/kubernetes/pkg/apis/resource/install"
	_ "k8s.io/kubernetes/pkg/apis/scheduling/install"
	_ "k8s.io/kubernetes/pkg/apis/storage/install"
	_ "k8s.io/kubernetes/pkg/apis/storagemigration/install"
	"k8s.io/kubernetes/pkg/printers"
	printersinternal "k8s.io/kubernetes/pkg/printers/internalversion"
	sigsjson "sigs.k8s.io/json"
)

// oracle answers requests.
type oracle struct {
	kinds  map[string]kind
	codecs serializer.CodecFactory
	tables *printers.HumanReadableGenerator
}

func newOracle() *oracle {
	return &oracle{
		kinds:  kinds(),
		codecs: serializer.NewCodecFactory(legacyscheme.Scheme),
		tables: printers.NewTableGenerator().With(printersinternal.AddHandlers),
	}
}

// answer answers one request. A panic of Kubernetes is an answer, too.
func (o *oracle) answer(request Request) (answer Answer) {
	defer func() {
		if cause := recover(); cause != nil {
			answer.Failure = fmt.Sprintf("panic: %v", cause)
		}
	}()
	gv, err := schema.ParseGroupVersion(request.APIVersion)
	if err != nil {
		return Answer{Failure: err.Error()}
	}
	kind, ok := o.kinds[request.Kind]
	if !ok {
		return Answer{Failure: "unknown kind " + request.Kind}
	}
	w := &write{oracle: o, kind: kind, version: gv.WithKind(request.Kind)}
	if request.Stage == "kind" {
		w.ctx = w.requestContext("", "")
		w.properties()
		return w.answer
	}
	if err := w.run(request); err != nil {
		w.answer.Failure = err.Error()
	}
	return w.answer
}

// write is one write of an object.
type write struct {
	*oracle
	kind    kind
	version schema.GroupVersionKind
	ctx     context.Context
	answer  Answer
}

func (w *write) run(request Request) error {
	obj, err := w.decode(request.Object)
	if err != nil {
		return err
	}
	w.answer.Unknown = w.unknownFields(request.Object)
	if w.answer.Defaulted, err = w.encode(obj); err != nil {
		return err
	}
	w.ctx = w.requestContext(objectMeta(obj).GetNamespace(), request.Stage)
	if request.Stage == "create" {
		if err := w.create(obj); err != nil || len(w.answer.Errors) > 0 {
			return err
		}
		return w.describe()
	}
	old, err := w.decode(request.Old)
	if err != nil {
		return fmt.Errorf("stored object: %w", err)
	}
	strategy, ok := w.kind.subresources[request.Stage]
	if request.Stage == "update" {
		strategy, ok = w.kind.main, true
	}
	if !ok {
		return fmt.Errorf("%s has no subresource %s", request.Kind, request.Stage)
	}
	if err := w.update(strategy, obj, old); err != nil || len(w.answer.Errors) > 0 {
		return err
	}
	_, err = w.read()
	return err
}

// read reads the stored object, which sets defaults again.
func (w *write) read() (runtime.Object, error) {
	obj, err := w.decode(w.answer.Stored)
	if err != nil {
		return nil, fmt.Errorf("read the stored object: %w", err)
	}
	w.answer.Stored, err = w.encode(obj)
	return obj, err
}

// decode decodes an object, sets its defaults and converts it to the internal type.
func (w *write) decode(text []byte) (runtime.Object, error) {
	versioned, _, err := w.codecs.UniversalDeserializer().Decode(text, &w.version, nil)
	if err != nil {
		return nil, err
	}
	legacyscheme.Scheme.Default(versioned)
	return legacyscheme.Scheme.UnsafeConvertToVersion(versioned, schema.GroupVersion{
		Group: w.version.Group, Version: runtime.APIVersionInternal,
	})
}

// unknownFields returns the fields that the decoder ignores.
func (w *write) unknownFields(text []byte) []string {
	empty, err := legacyscheme.Scheme.New(w.version)
	if err != nil {
		return []string{err.Error()}
	}
	strict, err := sigsjson.UnmarshalStrict(text, empty)
	if err != nil {
		return []string{err.Error()}
	}
	var unknown []string
	for _, err := range strict {
		unknown = append(unknown, err.Error())
	}
	return unknown
}

// encode encodes an internal object in the version of the request.
func (w *write) encode(obj runtime.Object) ([]byte, error) {
	versioned, err := legacyscheme.Scheme.ConvertToVersion(obj, w.version.GroupVersion())
	if err != nil {
		return nil, err
	}
	return json.Marshal(versioned)
}

// requestContext returns the context that the handlers of a request make.
func (w *write) requestContext(namespace, stage string) context.Context {
	info := &genericapirequest.RequestInfo{
		IsResourceRequest: true, APIGroup: w.version.Group, APIVersion: w.version.Version, Verb: "update",
	}
	switch stage {
	case "create":
		info.Verb = "create"
	case "update":
	default:
		info.Subresource = stage
	}
	ctx := genericapirequest.WithRequestInfo(context.Background(), info)
	ctx = genericapirequest.WithUser(ctx, &user.DefaultInfo{Name: "admin", Groups: []string{user.SystemPrivilegedGroup}})
	return genericapirequest.WithNamespace(ctx, namespace)
}
