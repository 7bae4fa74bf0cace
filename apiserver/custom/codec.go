package custom

import (
	"bytes"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/generic"
)

// codec stores the objects of a version as JSON in the storage version. When it decodes
// an object, it converts it to its own version, prunes it and sets defaults. An object
// that was stored before the schema changed therefore looks like a new one. It does not
// decode a text that it decoded before, see trees.
type codec struct {
	version *version
	stored  schema.GroupVersion
	id      runtime.Identifier
}

func newCodec(v *version) codec {
	stored := schema.GroupVersion{Group: v.resource.crd.Spec.Group, Version: v.resource.crd.Spec.StorageVersion()}
	id := runtime.Identifier("custom-" + v.groupVersionKind().String() + "-" + stored.Version)
	return codec{version: v, stored: stored, id: id}
}

// Identifier implements runtime.Encoder.
func (c codec) Identifier() runtime.Identifier { return c.id }

// Encode implements runtime.Encoder. It stores the object with the values that its version
// does not have.
func (c codec) Encode(obj runtime.Object, w io.Writer) error {
	u, ok := obj.(*object)
	if !ok {
		return fmt.Errorf("unexpected object %T", obj)
	}
	if u.GetAPIVersion() != c.stored.String() {
		converted, err := c.version.resource.convertor.ConvertToVersion(u.whole(), c.stored)
		if err != nil {
			return err
		}
		if u, ok = converted.(*object); !ok {
			return fmt.Errorf("unexpected object %T", converted)
		}
	}
	server := c.version.resource.server
	text, err := server.buffers.build(func(to []byte) ([]byte, error) {
		to, err := server.format.Append(to, u.Object)
		return append(to, '\n'), err
	})
	if err != nil {
		return err
	}
	c.remember(text, u)
	_, err = w.Write(text)
	return err
}

// remember caches an object that is about to be stored. The server then does not decode the
// text for the answer to the write and for its event. The object must be what Decode would
// return, so remember completes it first. This changes nothing, unless a caller forgot it.
func (c codec) remember(text []byte, obj *object) {
	if obj.GroupVersionKind() != c.version.groupVersionKind() {
		return
	}
	c.version.complete(obj.Object)
	c.version.resource.server.trees.add(c.version, text, obj)
}

// Decode implements runtime.Decoder.
func (c codec) Decode(data []byte, _ *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	obj, ok := into.(*object)
	if !ok {
		obj = &object{}
	}
	obj.unseen, obj.valid = nil, nil
	gvk, server := c.version.groupVersionKind(), c.version.resource.server
	obj.sets = server.sets
	if known := server.trees.get(c.version, data); known != nil {
		obj.Object, obj.valid = known.Object, known.valid
		return obj, &gvk, nil
	}
	content, err := server.format.Decode(data)
	if err != nil {
		return nil, nil, err
	}
	obj.Object = content
	server.sets.share(content)
	if obj.GetAPIVersion() == gvk.GroupVersion().String() {
		c.version.complete(obj.Object)
		server.trees.add(c.version, bytes.Clone(data), obj)
		return obj, &gvk, nil
	}
	if from := c.version.resource.versions[obj.GroupVersionKind().Version]; from != nil {
		from.complete(obj.Object)
	}
	stored, err := c.version.storedContent(obj)
	if err != nil {
		return nil, &gvk, err
	}
	converted, err := c.version.resource.convertor.unsafe.ConvertToVersion(plain(obj), gvk.GroupVersion())
	if err != nil {
		return nil, &gvk, err
	}
	u, ok := own(converted).(*object)
	if !ok {
		return nil, &gvk, fmt.Errorf("unexpected object %T", converted)
	}
	c.version.complete(u.Object)
	obj.Object, obj.unseen = u.Object, c.version.unseenOf(stored, u.Object)
	return obj, &gvk, nil
}

// withCodec replaces the codec in the options of a storage.
type withCodec struct {
	generic.RESTOptionsGetter
	codec codec
}

// GetRESTOptions implements generic.RESTOptionsGetter.
func (o withCodec) GetRESTOptions(resource schema.GroupResource, example runtime.Object) (generic.RESTOptions, error) {
	options, err := o.RESTOptionsGetter.GetRESTOptions(resource, example)
	if err != nil {
		return options, err
	}
	config := *options.StorageConfig
	config.Codec, config.EncodeVersioner = o.codec, o.codec.stored
	options.StorageConfig = &config
	return options, nil
}
