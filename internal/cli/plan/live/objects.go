package live

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/kubectl/pkg/util"
)

// Given is an object of the files.
type Given struct {
	Info *resource.Info
	// New is the object as a replacement creates it.
	New *unstructured.Unstructured
	// Replaced says that the stored object must be replaced by it.
	Replaced bool
}

// Given returns the objects of the last plan whose kinds the server has, in the order of the files.
func (p *Planner) Given() ([]Given, error) {
	replaced := map[*resource.Info]bool{}
	for _, d := range p.replaced {
		replaced[d.in.info] = true
	}
	var all []Given
	for i := range p.inputs {
		in := p.inputs[i]
		if in.info == nil {
			continue
		}
		created, err := in.created()
		if err != nil {
			return nil, err
		}
		all = append(all, Given{in.info, created, replaced[in.info]})
	}
	return all, nil
}

// Resource returns the resource of the object, in the version of the file.
func (r Replacement) Resource() runtimeschema.GroupVersionResource { return r.in.info.Mapping.Resource }

// Old returns the object that is to be replaced, in the state that the plan is about.
func (r Replacement) Old() *unstructured.Unstructured {
	return (&unstructured.Unstructured{Object: contentOf(r.in.info.Object)}).DeepCopy()
}

// New returns the new object, with the annotation of client-side apply, by which the next apply updates it.
func (r Replacement) New() (*unstructured.Unstructured, error) { return r.in.created() }

// created returns the object as a replacement creates it.
func (in *input) created() (*unstructured.Unstructured, error) {
	object := in.DeepCopy()
	if err := util.CreateApplyAnnotation(object, unstructured.UnstructuredJSONScheme); err != nil {
		return nil, fmt.Errorf("%s/%s: %w", object.GetKind(), object.GetName(), err)
	}
	return object, nil
}

// Trial returns the new object without what the server cannot allocate for it as long as the old one has it.
func (r Replacement) Trial() *unstructured.Unstructured {
	object := r.in.DeepCopy()
	release(object, contentOf(r.in.info.Object))
	return object
}
