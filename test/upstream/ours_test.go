package upstream_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/generic"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/storage/storagebackend/factory"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"holdfast.dev/holdfast/internal/apiserver/builtin"
	"holdfast.dev/holdfast/internal/apiserver/rights"
	"holdfast.dev/holdfast/internal/native"
)

// ours answers requests with the registries of our server. They have no storage.
type ours struct {
	scheme *runtime.Scheme
	codecs serializer.CodecFactory
	kinds  map[string]ourKind
}

type ourKind struct {
	kind         native.Kind
	store        *genericregistry.Store
	subresources map[string]rest.Storage
}

func newOurs(t *testing.T) *ours {
	t.Helper()
	scheme := native.NewScheme()
	registries, err := builtin.Open(builtin.Config{Scheme: scheme, Options: withoutStorage(), Features: native.NewFeatures()})
	if err != nil {
		t.Fatal(err)
	}
	o := &ours{scheme: scheme, codecs: serializer.NewCodecFactory(scheme), kinds: map[string]ourKind{}}
	for i, kind := range native.Kinds() {
		o.kinds[kind.Name()] = ourKind{
			kind: kind, store: registries.Stores[kind.GroupResource()], subresources: registries.Kinds[i].Resources,
		}
	}
	return o
}

// withoutStorage returns the options of stores that are never read or written.
func withoutStorage() generic.RESTOptions {
	return generic.RESTOptions{
		StorageConfig:  &storagebackend.ConfigForResource{},
		ResourcePrefix: "/unused",
		Decorator: func(
			*storagebackend.ConfigForResource, string, func(runtime.Object) (string, error), func() runtime.Object,
			func() runtime.Object, storage.AttrFunc, storage.IndexerFuncs, *cache.Indexers,
		) (storage.Interface, factory.DestroyFunc, error) {
			return nil, func() {}, nil
		},
	}
}

// strategy returns the strategy of a subresource that updates objects; "update" is the main
// resource. It is nil if there is no such subresource.
func (k ourKind) strategy(stage string) rest.RESTUpdateStrategy {
	if stage == "update" {
		return k.store.UpdateStrategy
	}
	part, ok := k.subresources[k.kind.Resource+"/"+stage].(interface{ Store() *genericregistry.Store })
	if !ok {
		return nil
	}
	return part.Store().UpdateStrategy
}

// ourWrite is one write of an object.
type ourWrite struct {
	*ours
	ourKind
	version schema.GroupVersionKind
	ctx     context.Context
	answer  answer
}

func (o *ours) ask(r request) (a answer) {
	defer func() {
		if cause := recover(); cause != nil {
			a.Failure = fmt.Sprintf("panic: %v", cause)
		}
	}()
	gv, err := schema.ParseGroupVersion(r.APIVersion)
	if err != nil {
		return answer{Failure: err.Error()}
	}
	w := &ourWrite{ours: o, ourKind: o.kinds[r.Kind], version: gv.WithKind(r.Kind)}
	if r.Stage == "kind" {
		w.answer.Properties = w.properties()
		return w.answer
	}
	if err := w.run(r); err != nil {
		w.answer.Failure = err.Error()
	}
	return w.answer
}

func (w *ourWrite) run(r request) error {
	obj, err := w.decode(r.Object)
	if err != nil {
		return err
	}
	if w.answer.Defaulted, err = w.encode(obj); err != nil {
		return err
	}
	w.ctx = w.requestContext(obj, r.Stage)
	if r.Stage == "create" {
		if err := w.create(obj); err != nil || len(w.answer.Errors) > 0 {
			return err
		}
		return w.describe()
	}
	old, err := w.decode(r.Old)
	if err != nil {
		return fmt.Errorf("stored object: %w", err)
	}
	strategy := w.strategy(r.Stage)
	if strategy == nil {
		return fmt.Errorf("%s has no subresource %s", r.Kind, r.Stage)
	}
	if err := w.update(strategy, obj, old); err != nil || len(w.answer.Errors) > 0 {
		return err
	}
	_, err = w.read()
	return err
}

// read reads the stored object, which sets defaults again.
func (w *ourWrite) read() (runtime.Object, error) {
	obj, err := w.decode(w.answer.Stored)
	if err != nil {
		return nil, fmt.Errorf("read the stored object: %w", err)
	}
	w.answer.Stored, err = w.encode(obj)
	return obj, err
}

// create calls the strategy as rest.BeforeCreate does.
func (w *ourWrite) create(obj runtime.Object) error {
	strategy := w.store.CreateStrategy
	strategy.PrepareForCreate(w.ctx, obj)
	errs := rest.ValidateCreate(w.ctx, obj, strategy)
	if len(errs) == 0 {
		w.answer.Warnings = strategy.WarningsOnCreate(w.ctx, obj)
		strategy.Canonicalize(obj)
	}
	return w.record(obj, errs)
}

// update calls the strategy as rest.BeforeUpdate does.
func (w *ourWrite) update(strategy rest.RESTUpdateStrategy, obj, old runtime.Object) error {
	newMeta, oldMeta := accessor(obj), accessor(old)
	newMeta.SetGeneration(oldMeta.GetGeneration())
	strategy.PrepareForUpdate(w.ctx, obj, old)
	if newMeta.GetUID() == "" {
		newMeta.SetUID(oldMeta.GetUID())
	}
	if created := oldMeta.GetCreationTimestamp(); !created.IsZero() {
		newMeta.SetCreationTimestamp(created)
	}
	if deleted := oldMeta.GetDeletionTimestamp(); !deleted.IsZero() {
		newMeta.SetDeletionTimestamp(deleted)
	}
	if period := oldMeta.GetDeletionGracePeriodSeconds(); period != nil && newMeta.GetDeletionGracePeriodSeconds() == nil {
		newMeta.SetDeletionGracePeriodSeconds(period)
	}
	errs := rest.ValidateUpdate(w.ctx, obj, old, strategy)
	if len(errs) == 0 {
		w.answer.Warnings = strategy.WarningsOnUpdate(w.ctx, obj, old)
		strategy.Canonicalize(obj)
	}
	return w.record(obj, errs)
}

func (w *ourWrite) record(obj runtime.Object, errs field.ErrorList) error {
	for _, err := range errs {
		w.answer.Errors = append(w.answer.Errors, cause{Type: string(err.Type), Field: err.Field, Detail: err.Detail})
	}
	var err error
	w.answer.Stored, err = w.encode(obj)
	return err
}

// encode encodes a stored object in the version of the request.
func (w *ourWrite) encode(obj runtime.Object) ([]byte, error) {
	versioned, err := w.scheme.ConvertToVersion(obj, w.version.GroupVersion())
	if err != nil {
		return nil, err
	}
	return json.Marshal(versioned)
}

func (w *ourWrite) describe() error {
	obj, err := w.read()
	if err != nil {
		return err
	}
	table, err := w.store.TableConvertor.ConvertToTable(w.ctx, obj, nil)
	if err != nil {
		return err
	}
	// The cells pass through JSON, as they do on the way to a client.
	text, err := json.Marshal(table.Rows[0].Cells)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, &w.answer.Cells); err != nil {
		return err
	}
	_, w.answer.Fields, err = w.store.PredicateFunc(nil, nil).GetAttrs(obj)
	return err
}

func (w *ourWrite) properties() *properties {
	strategy := w.store.UpdateStrategy
	out := &properties{
		Namespaced:          w.store.CreateStrategy.NamespaceScoped(),
		CreateOnUpdate:      strategy.AllowCreateOnUpdate(context.Background()),
		UnconditionalUpdate: strategy.AllowUnconditionalUpdate(context.Background()),
		Dependents:          string(w.store.DeleteStrategy.(rest.GarbageCollectionDeleteStrategy).DefaultGarbageCollectionPolicy(w.ctx)),
		ResetFields:         map[string][]string{"": w.resetFields(w.store)},
	}
	table, err := w.store.TableConvertor.ConvertToTable(context.Background(), w.kind.New(), nil)
	if err == nil {
		out.Columns = table.ColumnDefinitions
	}
	for _, name := range []string{"status", "approval", "finalize", "ephemeralcontainers", "resize"} {
		if part, ok := w.subresources[w.kind.Resource+"/"+name]; ok {
			out.ResetFields[name] = w.resetFields(part)
		}
	}
	return out
}

func (w *ourWrite) resetFields(part any) []string {
	resetting, ok := part.(rest.ResetFieldsStrategy)
	if !ok {
		return nil
	}
	set := resetting.GetResetFields()[fieldpath.APIVersion(w.version.GroupVersion().String())]
	if set == nil {
		return nil
	}
	var paths []string
	set.Iterate(func(path fieldpath.Path) { paths = append(paths, path.String()) })
	slices.Sort(paths)
	return paths
}

// decode decodes an object, sets its defaults and converts it to the version of storage.
func (w *ourWrite) decode(text []byte) (runtime.Object, error) {
	versioned, _, err := w.codecs.UniversalDeserializer().Decode(text, &w.version, nil)
	if err != nil {
		return nil, err
	}
	w.scheme.Default(versioned)
	return w.scheme.ConvertToVersion(versioned, schema.GroupVersion{Group: w.version.Group, Version: runtime.APIVersionInternal})
}

// requestContext returns the context of a request of a user who may do everything.
func (w *ourWrite) requestContext(obj runtime.Object, stage string) context.Context {
	info := &genericapirequest.RequestInfo{
		IsResourceRequest: true, APIGroup: w.version.Group, APIVersion: w.version.Version, Verb: "update", Resource: w.kind.Resource,
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
	ctx = genericapirequest.WithNamespace(ctx, accessor(obj).GetNamespace())
	next := http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) { ctx = req.Context() })
	rights.Filter(next, allowAll{}).ServeHTTP(nil, httptest.NewRequest(http.MethodPut, "/", nil).WithContext(ctx))
	return ctx
}

type allowAll struct{}

func (allowAll) Authorize(context.Context, authorizer.Attributes) (authorizer.Decision, string, error) {
	return authorizer.DecisionAllow, "", nil
}

func accessor(obj runtime.Object) metav1.Object {
	object, err := meta.Accessor(obj)
	if err != nil {
		panic(err)
	}
	return object
}
