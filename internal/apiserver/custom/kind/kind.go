package kind

import (
	"sync"
	"sync/atomic"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/conversion"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"holdfast.dev/holdfast/internal/apiserver/custom/fieldset"
	"holdfast.dev/holdfast/internal/definition"
)

// Config is what the kinds of a server have in common.
type Config struct {
	Converters *conversion.CRConverterFactory
	// Models are the OpenAPI models of ObjectMeta and of everything that it refers to.
	Models map[string]*spec.Schema
	// Sets keeps the sets of managed fields. It may be nil.
	Sets *fieldset.Sets
	// Observe is called after each compilation.
	Observe func(began time.Time, err error)
}

// Kind is a kind of custom resources.
type Kind struct {
	schema.GroupKind
	CRD      *definition.CustomResourceDefinition
	Versions map[string]*Version

	config *Config
	reads  compilation
	// Convertor converts objects between the versions. Compile sets it.
	Convertor Convertor

	writes compilation
	// types are the types by which field managers merge objects. CompileWrites sets them.
	types managedfields.TypeConverter
}

// New returns the kind of a definition. It compiles nothing.
func New(crd *definition.CustomResourceDefinition, config *Config) *Kind {
	k := &Kind{
		GroupKind: schema.GroupKind{Group: crd.Spec.Group, Kind: crd.Status.AcceptedNames.Kind},
		CRD:       crd, Versions: make(map[string]*Version, len(crd.Spec.Versions)), config: config,
	}
	for i := range crd.Spec.Versions {
		name := crd.Spec.Versions[i].Name
		k.Versions[name] = &Version{Kind: k, Name: name, Spec: &crd.Spec.Versions[i]}
	}
	return k
}

// compilation is work that is done once, and measured.
type compilation struct {
	once sync.Once
	err  error
	// succeeded is true after the work was done without an error.
	succeeded atomic.Bool
}

// do does the work if no call did it before, and returns its error.
func (c *compilation) do(observe func(time.Time, error), work func() error) error {
	c.once.Do(func() {
		began := time.Now()
		c.err = work()
		observe(began, c.err)
		c.succeeded.Store(c.err == nil)
	})
	return c.err
}

// Compile compiles what reads need of the schemas of all versions, once.
func (k *Kind) Compile() error {
	return k.reads.do(k.config.Observe, func() error { return k.compile(definition.CompileForReads) })
}

// CompileAll is Compile and CompileWrites in less time than both.
func (k *Kind) CompileAll() error {
	err := k.reads.do(k.config.Observe, func() error { return k.compile(definition.CompileBeforeWrites) })
	if err != nil {
		return err
	}
	return k.CompileWrites()
}

// IsCompiled reports whether Compile succeeded.
func (k *Kind) IsCompiled() bool { return k.reads.succeeded.Load() }

// HasCompiledWrites reports whether CompileWrites succeeded.
func (k *Kind) HasCompiledWrites() bool { return k.writes.succeeded.Load() }

func (k *Kind) compile(schemas func(*definition.CustomResourceDefinition) (map[string]*definition.Compiled, error)) error {
	compiled, err := schemas(k.CRD)
	if err != nil {
		return err
	}
	for name, v := range k.Versions {
		v.Compiled = compiled[name]
	}
	for name, v := range k.Versions {
		for _, other := range definition.AlsoMarked(k.CRD, compiled, name) {
			v.AlsoMarked = append(v.AlsoMarked, k.Versions[other])
		}
		v.protecting = protectingPolicies(v)
	}
	k.Convertor, err = newConvertor(k)
	return err
}

// CompileWrites compiles what only writes need, once. It is most of the memory of a compiled definition. The caller has called Compile.
func (k *Kind) CompileWrites() error { return k.writes.do(k.config.Observe, k.compileWrites) }

func (k *Kind) compileWrites() error {
	for _, v := range k.Versions {
		if err := v.Compiled.CompileForWrites(); err != nil {
			return err
		}
	}
	var err error
	k.types, err = k.compileTypes()
	return err
}

// GroupResource returns the name of the resource.
func (k *Kind) GroupResource() schema.GroupResource { return ResourceOf(k.CRD) }

// ResourceOf returns the name of the resource of a definition.
func ResourceOf(crd *definition.CustomResourceDefinition) schema.GroupResource {
	return schema.GroupResource{Group: crd.Spec.Group, Resource: crd.Status.AcceptedNames.Plural}
}

// Namespaced reports whether the objects are in namespaces.
func (k *Kind) Namespaced() bool { return k.CRD.Spec.Scope == apiextensionsv1.NamespaceScoped }

// Storage returns the version that objects are stored in.
func (k *Kind) Storage() *Version { return k.Versions[k.CRD.Spec.StorageVersion()] }

// versionOf returns the version that the apiVersion of an object names, or nil.
func (k *Kind) versionOf(obj map[string]any) *Version {
	apiVersion, _ := obj["apiVersion"].(string)
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil || gv.Group != k.Group {
		return nil
	}
	return k.Versions[gv.Version]
}

// IsEstablished reports whether a definition has the condition Established. Only such a definition is served.
func IsEstablished(crd *definition.CustomResourceDefinition) bool {
	return definition.IsConditionTrue(crd, apiextensionsv1.Established)
}
