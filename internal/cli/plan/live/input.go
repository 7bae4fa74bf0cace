package live

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/internal/manifest"
)

// input is an object of a file.
type input struct {
	*unstructured.Unstructured
	// source is the name of the file.
	source string
	// info is the object for requests. It is nil if the cluster does not have the kind.
	info *resource.Info
}

// read reads the objects of the files.
func (p *Planner) read() ([]input, error) {
	builder := p.Factory.NewBuilder().Unstructured().Local().FilenameParam(false, &p.Files).Flatten()
	if p.Selector != "" {
		builder = builder.LabelSelectorParam(p.Selector)
	}
	infos, err := builder.Do().Infos()
	if err != nil {
		return nil, p.syntax(err)
	}
	var inputs []input
	for _, info := range infos {
		object, ok := info.Object.(*unstructured.Unstructured)
		if !ok {
			return nil, fmt.Errorf("%s: no object but %T", info.Source, info.Object)
		}
		inputs = append(inputs, input{Unstructured: object, source: info.Source})
	}
	return inputs, nil
}

// syntax returns the place of a syntax error in one of the files, which the reader of kubectl
// does not know. Without such an error it returns the given one.
func (p *Planner) syntax(err error) error {
	for _, name := range p.Files.Filenames {
		data, readErr := os.ReadFile(name)
		if readErr != nil {
			continue
		}
		for _, document := range manifest.Split(name, data) {
			var wrong *manifest.SyntaxError
			if _, err := document.Objects(); errors.As(err, &wrong) {
				return fmt.Errorf("%s:%d: %s", name, wrong.Line, wrong.Detail)
			}
		}
	}
	return err
}

// connect finds the resource of an object on the server, and its namespace.
func (p *Planner) connect(in *input) error {
	gvk := in.GroupVersionKind()
	mapping, err := p.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return err
	}
	client, err := p.clientFor(mapping)
	if err != nil {
		return err
	}
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		switch given := in.GetNamespace(); {
		case given == "":
			in.SetNamespace(p.namespace)
		case p.enforced && given != p.namespace:
			return fmt.Errorf("the namespace of the object is %s, and that of the command line %s", given, p.namespace)
		}
	} else {
		in.SetNamespace("")
	}
	in.info = &resource.Info{
		Client: client, Mapping: mapping, Namespace: in.GetNamespace(), Name: in.GetName(), Source: in.source,
	}
	return nil
}

// clientFor returns the client that the factory has for a resource, with a transport that collects the warnings about rights.
func (p *Planner) clientFor(mapping *meta.RESTMapping) (resource.RESTClient, error) {
	config, err := p.Factory.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	config = rest.CopyConfig(config)
	config.APIPath = "/apis"
	if mapping.GroupVersionKind.Group == "" {
		config.APIPath = "/api"
	}
	config.ContentConfig = resource.UnstructuredPlusDefaultContentConfig()
	config.GroupVersion = new(mapping.GroupVersionKind.GroupVersion())
	config.Wrap(p.overrides.wrap)
	return rest.RESTClientFor(config)
}

// kindOf returns the kind that a CustomResourceDefinition defines.
func kindOf(object *unstructured.Unstructured) (runtimeschema.GroupKind, bool) {
	gvk := object.GroupVersionKind()
	if gvk.Group != "apiextensions.k8s.io" || gvk.Kind != "CustomResourceDefinition" {
		return runtimeschema.GroupKind{}, false
	}
	group, _, _ := unstructured.NestedString(object.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(object.Object, "spec", "names", "kind")
	return runtimeschema.GroupKind{Group: group, Kind: kind}, true
}

// places finds objects in files. The zero value is ready for use.
type places struct{ files map[string][]manifest.Object }

// find returns the place of an object, without a document if its source is not a file.
func (p *places) find(in input) manifest.Object {
	objects, ok := p.files[in.source]
	if !ok {
		if data, err := os.ReadFile(in.source); err == nil {
			for _, document := range manifest.Split(in.source, data) {
				// The reader of objects has refused documents that are not YAML.
				found, _ := document.Objects()
				objects = append(objects, found...)
			}
		}
		if p.files == nil {
			p.files = map[string][]manifest.Object{}
		}
		p.files[in.source] = objects
	}
	for _, o := range objects {
		var header struct {
			Metadata struct{ Name, Namespace string }
		}
		if o.Kind != in.GetKind() || o.APIVersion != in.GetAPIVersion() || json.Unmarshal(o.JSON, &header) != nil {
			continue
		}
		namespace := header.Metadata.Namespace
		if header.Metadata.Name == in.GetName() && (namespace == "" || namespace == in.GetNamespace()) {
			return o
		}
	}
	return manifest.Object{}
}
