package fields

import (
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/managedfields"

	"holdfast.dev/holdfast/internal/apiserver/custom/kind"
	"holdfast.dev/holdfast/internal/apiserver/custom/object"
	"holdfast.dev/holdfast/internal/nesting"
)

// Library is the plain form of a Recorder. It calls the field manager of Kubernetes.
type Library struct {
	Endpoint
	updates *managedfields.FieldManager
}

var _ Recorder = &Library{}

func newLibrary(e Endpoint) (*Library, error) {
	updates, err := e.manager(e.updateTypes())
	return &Library{Endpoint: e, updates: updates}, err
}

// manager returns a field manager that converts objects by types.
func (e Endpoint) manager(types managedfields.TypeConverter) (*managedfields.FieldManager, error) {
	convertor, gvk := e.Version.Kind.Convertor, e.Version.GroupVersionKind()
	manager, err := managedfields.NewDefaultCRDFieldManager(types, kind.Reader{Convertor: convertor}, convertor, object.Creater{},
		gvk, gvk.GroupVersion(), e.Subresource, e.written())
	if err != nil {
		return nil, fmt.Errorf("managed fields of %s: %w", gvk, err)
	}
	return manager, nil
}

func (e Endpoint) updateTypes() updateTypes {
	return updateTypes{e.Version.Kind.Types(), e.Version.Kind}
}

// Create implements Recorder. For the field manager, a creation is an update of an empty object.
func (l *Library) Create(obj *object.Object, manager string) *object.Object {
	return l.Update(object.New(l.Version.GroupVersionKind()), obj, manager)
}

// Update implements Recorder.
func (l *Library) Update(stored, updated *object.Object, manager string) *object.Object {
	return object.From(l.updates.UpdateNoErrors(stored, updated, manager))
}

// Apply implements Recorder. The merge fails for values that do not have the type of the schema. An object that was stored under an
// earlier schema may have such values. Apply leaves them out of the merge and puts them back after it.
func (l *Library) Apply(stored *object.Object, applied Configuration) (*object.Object, error) {
	if stored == nil {
		stored = object.New(l.Version.GroupVersionKind())
	}
	if nesting.ContentLevels(stored.Object) > nesting.Limit {
		return nil, errTooDeep
	}
	fitting, err := l.fitting(stored)
	if err != nil {
		return nil, err
	}
	merged, err := l.merge(fitting, applied)
	if err != nil {
		return nil, err
	}
	if fitting != stored {
		restoreOmitted(merged.Object, stored.Object, fitting.Object)
	}
	if err := l.removeReleased(stored, merged, applied.Manager); err != nil {
		return nil, err
	}
	return merged, nil
}

// fitting returns a stored object without the values that do not have the type of the schema. It returns the object itself if it has none.
func (l *Library) fitting(stored *object.Object) (*object.Object, error) {
	if stored.Valid == l.Version.Compiled {
		return stored, nil
	}
	wrong := l.Version.Compiled.Skeleton.Check(stored.Object)
	if len(wrong) == 0 {
		return stored, nil
	}
	var inLists []string
	for _, w := range wrong {
		if strings.Contains(w.Path, "[") {
			inLists = append(inLists, w.Error())
		}
	}
	if len(inLists) > 0 {
		// managedFields identifies the items of a list by their keys or values. If an item were left out, the field manager would lose
		// its owners.
		return nil, apierrors.NewBadRequest("stored values have the wrong type; before you apply, correct them with an update or a patch: " +
			strings.Join(inLists, "; "))
	}
	return object.Of(l.Version.Compiled.Skeleton.Fitting(stored.Object)), nil
}

// merge merges a configuration into an object. If the configuration cannot be merged, for example because an item lacks a key of its
// list, the error has the words of Kubernetes. Kubernetes sends it with status 500, although the request is at fault.
func (l *Library) merge(stored *object.Object, applied Configuration) (*object.Object, error) {
	config := &unstructured.Unstructured{Object: applied.Content}
	types := &applyTypes{TypeConverter: l.Version.Kind.Types(), version: l.Version, applied: config}
	manager, err := l.manager(types)
	if err != nil {
		return nil, err
	}
	merged, err := manager.Apply(stored, config, applied.Manager, applied.Force)
	switch {
	case err != nil && types.refused:
		return nil, apierrors.NewBadRequest(err.Error())
	case err != nil:
		return nil, err
	}
	return object.From(merged), nil
}

// restoreOmitted adds to obj the values that are in whole but not in part. It does not replace a value that obj has at the same path.
func restoreOmitted(obj, whole, part map[string]any) {
	for key, value := range whole {
		partValue, inPart := part[key]
		objValue, inObj := obj[key]
		if !inPart {
			if !inObj {
				obj[key] = value
			}
			continue
		}
		wholeMap, wholeIsMap := value.(map[string]any)
		partMap, partIsMap := partValue.(map[string]any)
		objMap, objIsMap := objValue.(map[string]any)
		if wholeIsMap && partIsMap && objIsMap {
			restoreOmitted(objMap, wholeMap, partMap)
		}
	}
}
