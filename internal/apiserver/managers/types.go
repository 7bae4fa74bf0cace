package managers

import (
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/kube-openapi/pkg/builder3"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/util"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// lazyTypes converts the objects of a kind to typed values. The types are built with the first use: a server gets no writes of most kinds. The installer of the
// library has the same types, and shows them to nothing else.
type lazyTypes struct {
	converter func() (managedfields.TypeConverter, error)
}

var _ managedfields.TypeConverter = lazyTypes{}

// NewTypes returns the types of a kind. The config has those of all kinds.
func NewTypes(config *common.OpenAPIV3Config, example runtime.Object) managedfields.TypeConverter {
	return lazyTypes{sync.OnceValues(func() (managedfields.TypeConverter, error) {
		// The server drops the definitions that it has in a config when all kinds are installed, and the builder keeps them there.
		own := *config
		own.Definitions = nil
		models, err := builder3.BuildOpenAPIDefinitionsForResources(&own, util.GetCanonicalTypeName(example))
		if err != nil {
			return nil, fmt.Errorf("build the types of %T: %w", example, err)
		}
		return managedfields.NewTypeConverter(models, false)
	})}
}

// ObjectToTyped implements managedfields.TypeConverter.
func (t lazyTypes) ObjectToTyped(obj runtime.Object, options ...typed.ValidationOptions) (*typed.TypedValue, error) {
	converter, err := t.converter()
	if err != nil {
		return nil, err
	}
	return converter.ObjectToTyped(obj, options...)
}

// TypedToObject implements managedfields.TypeConverter.
func (t lazyTypes) TypedToObject(value *typed.TypedValue) (runtime.Object, error) {
	converter, err := t.converter()
	if err != nil {
		return nil, err
	}
	return converter.TypedToObject(value)
}
