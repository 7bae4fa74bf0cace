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
)

// applyHandler answers a server-side apply to the resource or its status.
func (v *version) applyHandler(subresource string) http.HandlerFunc {
	admit := gate{version: v, delegate: v.resource.server.config.Admission}
	if subresource == "status" {
		return handlers.PatchResource(appliedTo{v.status, v}, v.scopes.applyStatus, admit, patchTypes)
	}
	return handlers.PatchResource(appliedTo{v.store, v}, v.scopes.apply, admit, patchTypes)
}

// appliedTo is storage that applied configurations are merged into. Merging
// needs values of the types that the schema names. What is stored with another
// type, because the schema was another one, stays out of the merge and comes
// back after it.
type appliedTo struct {
	rest.Patcher
	version *version
}

// Update implements rest.Updater.
func (a appliedTo) Update(
	ctx context.Context, name string, info rest.UpdatedObjectInfo,
	create rest.ValidateObjectFunc, update rest.ValidateObjectUpdateFunc,
	forceCreate bool, options *metav1.UpdateOptions,
) (runtime.Object, bool, error) {
	return a.Patcher.Update(ctx, name, appliedObject{info, a.version}, create, update, forceCreate, options)
}

type appliedObject struct {
	rest.UpdatedObjectInfo
	version *version
}

// UpdatedObject implements rest.UpdatedObjectInfo.
func (o appliedObject) UpdatedObject(ctx context.Context, oldObj runtime.Object) (runtime.Object, error) {
	sk, old := o.version.compiled.Skeleton, content(oldObj)
	wrong := sk.Check(old.Object)
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
		// What of a list comes from whom is not to be known without its items.
		return nil, apierrors.NewBadRequest("nothing can be applied before what is stored is corrected by an update or a patch: " + strings.Join(inLists, "; "))
	}
	fitting := sk.Fitting(old.Object)
	out, err := o.UpdatedObjectInfo.UpdatedObject(ctx, &object{Object: fitting})
	if err != nil {
		return nil, err
	}
	giveBack(content(out).Object, old.Object, fitting)
	return out, nil
}

// giveBack puts what was left out of whole into part back into obj, where obj has
// a place for it that is free.
func giveBack(obj, whole, part map[string]any) {
	for key, value := range whole {
		rest, kept := part[key]
		now, there := obj[key]
		if !kept {
			if !there {
				obj[key] = value
			}
			continue
		}
		inner, isMap := value.(map[string]any)
		innerRest, restIsMap := rest.(map[string]any)
		innerNow, nowIsMap := now.(map[string]any)
		if isMap && restIsMap && nowIsMap {
			giveBack(innerNow, inner, innerRest)
		}
	}
}
