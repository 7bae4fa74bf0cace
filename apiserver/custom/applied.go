package custom

import (
	"context"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/endpoints/handlers"
	"k8s.io/apiserver/pkg/registry/rest"

	"holdfast.dev/holdfast/nesting"
	"holdfast.dev/holdfast/skeleton"
)

// applyHandler returns the handler of one server-side apply of a configuration to the resource
// or its status.
func (v *version) applyHandler(subresource string, applied map[string]any) (http.HandlerFunc, error) {
	storage, base := statusOrObjects(v.store), v.scopes.main
	if subresource == "status" {
		storage, base = v.status, v.scopes.status
	}
	types := applyTypes{TypeConverter: v.resource.merger.types, resource: v.resource, applied: applied, refused: new(bool)}
	scope, err := merger{types}.scope(*base, storage.GetResetFields())
	if err != nil {
		return nil, err
	}
	admit := objectAdmission{version: v, delegate: v.resource.server.config.Admission}
	merge := func(info rest.UpdatedObjectInfo, options *metav1.UpdateOptions) rest.UpdatedObjectInfo {
		request := valueApply{valueWrite{version: v, scope: scope, admit: admit, options: options}, applied}
		return applyObjectInfo{info, request, types.refused}
	}
	return handlers.PatchResource(wrappedStorage{storage, merge}, scope, admit, patchTypes), nil
}

// wrappedStorage is a storage that wraps what an update does with the stored object.
type wrappedStorage struct {
	rest.Patcher
	wrap func(rest.UpdatedObjectInfo, *metav1.UpdateOptions) rest.UpdatedObjectInfo
}

// Update implements rest.Updater.
func (w wrappedStorage) Update(
	ctx context.Context, name string, info rest.UpdatedObjectInfo,
	create rest.ValidateObjectFunc, update rest.ValidateObjectUpdateFunc,
	forceCreate bool, options *metav1.UpdateOptions,
) (runtime.Object, bool, error) {
	return w.Patcher.Update(ctx, name, w.wrap(info, options), create, update, forceCreate, options)
}

// applyObjectInfo merges an applied configuration into the stored object. The merge fails for
// values that do not have the type of the schema. An object that was stored under an earlier
// schema may have such values. They are left out of the merge and put back after it.
type applyObjectInfo struct {
	rest.UpdatedObjectInfo
	values valueApply
	// refused is that of applyTypes.
	refused *bool
}

// UpdatedObject implements rest.UpdatedObjectInfo. If the configuration cannot be merged, for
// example because an item lacks a key of its list, the error has the words of Kubernetes. Kubernetes
// sends it with status 500, although the request is at fault.
func (o applyObjectInfo) UpdatedObject(ctx context.Context, oldObj runtime.Object) (runtime.Object, error) {
	if merged, err := o.values.updated(ctx, content(oldObj)); merged != nil || err != nil {
		return merged, err
	}
	obj, err := o.merge(ctx, oldObj)
	if err != nil && *o.refused {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if merged, ok := obj.(*object); ok && err == nil {
		shareContent(content(oldObj).Object, merged.Object)
	}
	return obj, err
}

// merge merges the configuration into the stored object.
func (o applyObjectInfo) merge(ctx context.Context, oldObj runtime.Object) (runtime.Object, error) {
	v, old := o.values.version, content(oldObj)
	sk := v.compiled.Skeleton
	if nesting.ContentLevels(old.Object) > nesting.Limit {
		return nil, errTooDeep
	}
	var wrong []skeleton.WrongType
	if old.valid != v {
		wrong = sk.Check(old.Object)
	}
	if len(wrong) == 0 {
		return o.UpdatedObjectInfo.UpdatedObject(ctx, oldObj)
	}
	var inLists []string
	for _, w := range wrong {
		if strings.Contains(w.Path, "[") {
			inLists = append(inLists, w.Error())
		}
	}
	if len(inLists) > 0 {
		// managedFields identifies the items of a list by their keys or values. If an
		// item were left out, the field manager would lose its owners.
		return nil, apierrors.NewBadRequest("stored values have the wrong type; before you apply, correct them with an update or a patch: " +
			strings.Join(inLists, "; "))
	}
	fitting := sk.Fitting(old.Object)
	out, err := o.UpdatedObjectInfo.UpdatedObject(ctx, objectOf(fitting))
	if err != nil {
		return nil, err
	}
	restoreOmitted(content(out).Object, old.Object, fitting)
	return out, nil
}

// restoreOmitted adds to obj the values that are in whole but not in part. It does not
// replace a value that obj has at the same path.
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
