package live

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/kubectl/pkg/util"
)

// Infos returns the objects of the last plan whose kinds the server has, in the order of the files.
func (p *Planner) Infos() []*resource.Info {
	var infos []*resource.Info
	for i := range p.inputs {
		if info := p.inputs[i].info; info != nil {
			infos = append(infos, info)
		}
	}
	return infos
}

// Resource returns the resource of the object, in the version of the file.
func (r Replacement) Resource() runtimeschema.GroupVersionResource { return r.in.info.Mapping.Resource }

// Old returns the object that is to be replaced, in the state that the plan is about.
func (r Replacement) Old() *unstructured.Unstructured {
	return (&unstructured.Unstructured{Object: contentOf(r.in.info.Object)}).DeepCopy()
}

// New returns the new object, with the annotation of client-side apply, by which the next apply updates it.
func (r Replacement) New() (*unstructured.Unstructured, error) {
	object := r.in.DeepCopy()
	if err := util.CreateApplyAnnotation(object, unstructured.UnstructuredJSONScheme); err != nil {
		return nil, fmt.Errorf("%s: %w", r.Object, err)
	}
	return object, nil
}

// Trial returns the new object without what the server cannot allocate for it as long as the old one has it.
func (r Replacement) Trial() *unstructured.Unstructured {
	object := r.in.DeepCopy()
	release(object, contentOf(r.in.info.Object))
	return object
}
