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

// patchOf is a function that applies a patch to an object without its managed fields. The patch is decoded, and the function may change it.
type patchOf func(old runtime.Object, patch map[string]any) (runtime.Object, error)

// preparePatch decodes a patch. It returns false if the patch is not regular.
func (r *request) preparePatch(apply patchOf) bool {
	patch, ok := decodePatch(r.body)
	if !ok || !isRegularPatch(patch) {
		return false
	}
	audit.LogRequestPatch(r.http.Context(), r.body)
	r.verb = requestmetrics.Patch
	r.change = func(old runtime.Object, isStored bool) (runtime.Object, error) {
		sent := patch
		if patch = nil; sent == nil {
			sent, ok = decodePatch(r.body)
		}
		if !ok || !isStored {
			return nil, errIrregular
		}
		obj, err := apply(managers.WithoutEntries(old), sent)
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
		return r.managers.Update(old, obj, r.manager), nil
	}
	return true
}

// decodePatch returns false for a patch that is no object, or has a key twice.
func decodePatch(body []byte) (map[string]any, bool) {
	var patch map[string]any
	duplicates, err := kjson.UnmarshalStrict(body, &patch)
	return patch, err == nil && len(duplicates) == 0 && patch != nil
}

// isRegularPatch reports whether a patch leaves the managed fields as they are, and has no directive for the object or its metadata.
func isRegularPatch(patch map[string]any) bool {
	if hasDirective(patch) {
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
func (r *request) patchStrategic(old runtime.Object, patch map[string]any) (runtime.Object, error) {
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

// patchMerge applies a merge patch, as text.
func (r *request) patchMerge(old runtime.Object, _ map[string]any) (runtime.Object, error) {
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
