package kind

import (
	"errors"
	"strconv"

	"holdfast.dev/holdfast/internal/apiserver/custom/object"
	"holdfast.dev/holdfast/internal/apiserver/custom/text"
)

// ErrWebhook says that only a conversion webhook can convert a stored object.
var ErrWebhook = errors.New("the object is stored in another version, and a webhook converts it")

// Anew decodes a stored text in the plain form: with the library, and without a cache. The revision becomes the resourceVersion of the
// object; zero leaves it out. It calls no webhook: for an object that needs one, it returns ErrWebhook.
func (v *Version) Anew(data []byte, revision int64) (*object.Object, error) {
	content, err := text.Library{}.Decode(data)
	if err != nil {
		return nil, err
	}
	obj := object.Of(content)
	if obj.GetAPIVersion() == v.GroupVersion().String() {
		v.Conform(obj.Object)
	} else {
		if v.Kind.Convertor.callsWebhook {
			return nil, ErrWebhook
		}
		if obj, err = v.FromStorage(obj); err != nil {
			return nil, err
		}
	}
	if revision != 0 {
		obj.SetResourceVersion(strconv.FormatInt(revision, 10))
	}
	return obj, nil
}

// KeyOf names an object in the log.
func (v *Version) KeyOf(namespace, name string) string {
	if namespace != "" {
		name = namespace + "/" + name
	}
	return v.Kind.GroupResource().String() + " " + name
}
