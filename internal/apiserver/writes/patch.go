package writes

import (
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/apiserver/pkg/audit"
	requestmetrics "k8s.io/apiserver/pkg/endpoints/handlers/metrics"
	kjson "sigs.k8s.io/json"

	"holdfast.dev/holdfast/internal/apiserver/managers"
)

// prepareStrategic prepares a strategic merge patch. It returns false if the patch is not regular.
func (r *request) prepareStrategic() bool { return r.preparePatch(r.patchStrategic) }

// prepareMerge prepares a merge patch. It returns false if the patch is not regular.
func (r *request) prepareMerge() bool { return r.preparePatch(r.patchMerge) }

// preparePatch prepares a patch, which a function applies to an object without its managed fields.
func (r *request) preparePatch(patch func(runtime.Object) (runtime.Object, error)) bool {
	if !r.isRegularPatch() {
		return false
	}
	audit.LogRequestPatch(r.http.Context(), r.body)
	r.verb = requestmetrics.Patch
	r.change = func(old runtime.Object, isStored bool) (runtime.Object, error) {
		if !isStored {
			return nil, errIrregular
		}
		obj, err := patch(managers.WithoutEntries(old))
		if err != nil {
			return nil, errIrregular
		}
		stored, err := meta.Accessor(old)
		if err != nil {
			return nil, err
		}
		accessor, err := meta.Accessor(obj)
		if err != nil {
			return nil, err
		}
		accessor.SetManagedFields(stored.GetManagedFields())
		return r.managers.Update(old, obj, r.manager()), nil
	}
	return true
}

// isRegularPatch reports whether the body is an object without duplicate keys that leaves the managed fields as they are, and has no directive for
// the object or its metadata.
func (r *request) isRegularPatch() bool {
	patch, ok := decodePatch(r.body)
	if !ok || hasDirective(patch) {
		return false
	}
	metadata, hasMetadata := patch["metadata"]
	if !hasMetadata {
		return true
	}
	fields, isObject := metadata.(map[string]any)
	_, hasManagers := fields["managedFields"]
	return isObject && !hasManagers && !hasDirective(fields)
}

func decodePatch(body []byte) (map[string]any, bool) {
	var patch map[string]any
	duplicates, err := kjson.UnmarshalStrict(body, &patch)
	return patch, err == nil && len(duplicates) == 0 && patch != nil
}

// hasDirective reports whether a strategic merge patch says more about an object than its fields.
func hasDirective(fields map[string]any) bool {
	for name := range fields {
		if strings.HasPrefix(name, "$") {
			return true
		}
	}
	return false
}

// patchStrategic applies a strategic merge patch.
func (r *request) patchStrategic(old runtime.Object) (runtime.Object, error) {
	versioned, err := r.scope.UnsafeConvertor.ConvertToVersion(old, r.scope.Kind.GroupVersion())
	if err != nil {
		return nil, err
	}
	obj, err := r.scope.Creater.New(r.scope.Kind)
	if err != nil {
		return nil, err
	}
	tree, err := runtime.DefaultUnstructuredConverter.ToUnstructured(versioned)
	if err != nil {
		return nil, err
	}
	patch, ok := decodePatch(r.body)
	if !ok {
		return nil, errIrregular
	}
	patched, err := strategicpatch.StrategicMergeMapPatch(tree, patch, obj)
	if err != nil {
		return nil, err
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(patched, obj, true); err != nil {
		return nil, err
	}
	r.scope.Defaulter.Default(obj)
	return r.scope.UnsafeConvertor.ConvertToVersion(obj, r.scope.HubGroupVersion)
}

// patchMerge applies a merge patch.
func (r *request) patchMerge(old runtime.Object) (runtime.Object, error) {
	text, err := runtime.Encode(r.json, old)
	if err != nil {
		return nil, err
	}
	patched, err := jsonpatch.MergePatch(text, r.body)
	if err != nil {
		return nil, err
	}
	obj := r.storage.New()
	return obj, runtime.DecodeInto(r.json, patched, obj)
}
