package served

import (
	"bytes"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/generic"

	"holdfast.dev/holdfast/internal/apiserver/custom/kept"
	"holdfast.dev/holdfast/internal/apiserver/custom/kind"
	"holdfast.dev/holdfast/internal/apiserver/custom/object"
	"holdfast.dev/holdfast/internal/apiserver/custom/text"
	"holdfast.dev/holdfast/internal/apiserver/recording"
	"holdfast.dev/holdfast/internal/apiserver/storage"
	"holdfast.dev/holdfast/ownership"
)

// codec stores the objects of a version as JSON in the storage version. When it decodes an object, it converts it to its own version and
// lets it conform. An object that was stored before the schema changed therefore looks like a new one. If package kept still has the
// object of a text, the codec does not decode the text.
type codec struct {
	version *kind.Version
	format  text.Format
	trees   *kept.Trees
	stored  schema.GroupVersion
	id      runtime.Identifier
	// defaultsStatus reports whether the schema has a default for the status.
	defaultsStatus bool
}

func newCodec(v *kind.Version, format text.Format, trees *kept.Trees) codec {
	stored := v.Kind.Storage().GroupVersion()
	id := runtime.Identifier("custom-" + v.GroupVersionKind().String() + "-" + stored.Version)
	empty := object.New(v.GroupVersionKind())
	v.Conform(empty.Object)
	_, defaultsStatus := empty.Object["status"]
	return codec{version: v, format: format, trees: trees, stored: stored, id: id, defaultsStatus: defaultsStatus}
}

// Identifier implements runtime.Encoder.
func (c codec) Identifier() runtime.Identifier { return c.id }

// Encode implements runtime.Encoder. It stores the object with the values that its version does not have. It keeps an object of the
// storage version, so that the server does not decode the text for the answer to the write and for its event.
func (c codec) Encode(obj runtime.Object, w io.Writer) error {
	custom, ok := obj.(*object.Object)
	if !ok {
		return fmt.Errorf("unexpected object %T", obj)
	}
	u, err := c.inStorageVersion(custom)
	if err != nil {
		return err
	}
	var data bytes.Buffer
	if err := c.format.Encode(&data, u.Object); err != nil {
		return err
	}
	if u.GroupVersionKind() == c.version.GroupVersionKind() && c.isDecodedToItself(u) {
		c.check(data.Bytes(), u)
		c.trees.Add(c.version, data.Bytes(), u)
	}
	_, err = w.Write(data.Bytes())
	return err
}

// inStorageVersion returns an object in the storage version, with the values that its version does not have.
func (c codec) inStorageVersion(obj *object.Object) (*object.Object, error) {
	return c.in(obj, c.stored)
}

// in returns an object in a version.
func (c codec) in(obj *object.Object, version schema.GroupVersion) (*object.Object, error) {
	if obj.GetAPIVersion() == version.String() {
		return obj, nil
	}
	converted, err := c.version.Kind.Convertor.ConvertToVersion(obj.Whole(), version)
	if err != nil {
		return nil, err
	}
	return object.From(converted), nil
}

var _ recording.Contents = codec{}

// Stored implements recording.Contents.
func (c codec) Stored(obj runtime.Object) (map[string]any, error) {
	stored, err := c.inStorageVersion(object.From(obj))
	if err != nil {
		return nil, err
	}
	return stored.Object, nil
}

// Earlier implements recording.Contents.
func (c codec) Earlier(obj runtime.Object, apiVersion string) (map[string]any, error) {
	version, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return nil, err
	}
	earlier, err := c.in(object.From(obj), version)
	if err != nil {
		return nil, err
	}
	return earlier.Object, nil
}

// Lists implements recording.Contents. The server has compiled the types of the kind, because it writes an object.
func (c codec) Lists() ownership.Lists { return c.version.Kind.Storage().Owned.Lists() }

// IsStored implements recording.Contents.
func (c codec) IsStored() bool { return c.version.GroupVersion() == c.stored }

// isDecodedToItself reports whether the text of an object that a write has prepared is decoded to the object. A new object is stored without
// the default of its status.
func (c codec) isDecodedToItself(obj *object.Object) bool {
	_, hasStatus := obj.Object["status"]
	return (hasStatus || !c.defaultsStatus) && !text.HasWholeFloat(obj.Object)
}

var _ storage.Comparer = codec{}

// Same implements storage.Comparer.
func (c codec) Same(cached runtime.Object, stored []byte, revision int64) (same, known bool) {
	anew, err := c.version.Anew(stored, revision)
	if err != nil {
		return false, false
	}
	return text.Same(anew.Object, object.From(cached).Object), true
}

// check stops with a panic if an object is not what its text is decoded to, in a build that checks shared values. The codec keeps the
// object and does not decode its text again, so all writes must let their objects conform.
func (c codec) check(data []byte, obj *object.Object) {
	if !object.CheckFrozen {
		return
	}
	decoded, err := c.format.Decode(data)
	if err == nil {
		c.version.Conform(decoded)
	}
	if kept, want := fmt.Sprint(obj.Object), fmt.Sprint(decoded); err != nil || kept != want {
		panic(fmt.Sprintf("a custom resource is kept that its text is not decoded to: %.2000s, want %.2000s, %v", kept, want, err))
	}
}

// Decode implements runtime.Decoder.
func (c codec) Decode(data []byte, _ *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	obj, ok := into.(*object.Object)
	if !ok {
		obj = &object.Object{}
	}
	decoded, err := c.decode(data)
	if err != nil {
		return nil, nil, err
	}
	*obj = *decoded
	obj.Sets = c.version.Sets()
	gvk := c.version.GroupVersionKind()
	return obj, &gvk, nil
}

func (c codec) decode(data []byte) (*object.Object, error) {
	if known := c.trees.Get(c.version, data); known != nil {
		return known, nil
	}
	content, err := c.format.Decode(data)
	if err != nil {
		return nil, err
	}
	c.version.Sets().Share(content)
	obj := object.Of(content)
	if obj.GetAPIVersion() != c.version.GroupVersion().String() {
		return c.version.FromStorage(obj)
	}
	c.version.Conform(obj.Object)
	c.trees.Add(c.version, bytes.Clone(data), obj)
	return obj, nil
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
