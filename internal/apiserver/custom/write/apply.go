package write

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/warning"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/internal/apiserver/custom/fields"
	"holdfast.dev/holdfast/internal/apiserver/custom/object"
	"holdfast.dev/holdfast/internal/apiserver/custom/text"
)

// decodeConfiguration decodes the configuration of a server-side apply, checks its types, and prunes it before it is merged. Otherwise a
// manager would own fields that the schema does not have. It sets no defaults: a manager does not own the fields that it leaves out.
func (r *request) decodeConfiguration(ctx context.Context) error {
	if !r.decodeJSON() {
		if err := r.decodeYAML(ctx); err != nil {
			return err
		}
	}
	name := ""
	if meta, ok := r.configuration["metadata"].(map[string]any); ok {
		name, _ = meta["name"].(string)
	}
	if err := r.wrongTypes(name, r.Version.Compiled.Skeleton.Check(r.configuration)); err != nil {
		return err
	}
	if err := r.refuseNulls(); err != nil {
		return err
	}
	if r.Version.Compiled.Pruned && r.configuration != nil {
		unknown := r.Version.Compiled.Skeleton.PrunePaths(r.configuration)
		if r.directive == metav1.FieldValidationStrict && len(unknown) > 0 {
			return r.undeclared(unknown)
		}
		if r.directive != metav1.FieldValidationIgnore {
			for _, path := range unknown {
				warning.AddWarning(ctx, "", fmt.Sprintf("unknown field %q", path))
			}
		}
	}
	audited := audit.AuditContextFrom(ctx)
	if !audited.Enabled() || audited.GetEventLevel().Less(auditinternal.LevelRequest) {
		return nil
	}
	// The audit log gets the configuration without its unknown fields.
	text, err := r.Format.Append(nil, r.configuration)
	if err != nil {
		return apierrors.NewBadRequest(fmt.Sprintf("error encoding patch: %v", err))
	}
	audit.LogRequestPatch(ctx, text)
	return nil
}

// refuseNulls refuses a null for a field that is neither nullable nor has a default. The server would drop it, and the manager would own
// a field that is not there. The error has the words of Kubernetes.
func (r *request) refuseNulls() error {
	var errs field.ErrorList
	for _, null := range r.Version.Compiled.Skeleton.Nulls(r.configuration) {
		top, _, _ := strings.Cut(null.Path, ".")
		if top != "apiVersion" && top != "kind" && top != "metadata" && r.Fields.IsWritten(top) {
			errs = append(errs, field.Invalid(field.NewPath(null.Path), "null", fmt.Sprintf("%s in body must be of type %s: \"null\"", null.Path, null.Want)))
		}
	}
	if len(errs) == 0 {
		return nil
	}
	return apierrors.NewInvalid(r.Version.Kind.GroupKind, r.name, errs)
}

// decodeJSON decodes a configuration that is JSON without duplicate keys. That is what Go clients send. For everything else it
// returns false. Kubernetes decodes a configuration as YAML, where 1.0 is the integer 1.
func (r *request) decodeJSON() bool {
	if !bytes.HasPrefix(r.body, []byte("{")) {
		return false
	}
	configuration, duplicates, err := r.Format.DecodeStrict(r.body)
	if err != nil || len(duplicates) > 0 || text.HasWholeFloat(configuration) {
		return false
	}
	r.configuration = configuration
	return true
}

// decodeYAML decodes YAML. For duplicate keys it adds a warning or returns an error, unless the client sent fieldValidation=Ignore.
// Integers stay exact.
func (r *request) decodeYAML(ctx context.Context) error {
	data, err := yaml.YAMLToJSON(r.body)
	if err != nil {
		return apierrors.NewBadRequest(fmt.Sprintf("error decoding patch: %v", err))
	}
	if err := utiljson.Unmarshal(data, &r.configuration); err != nil {
		return apierrors.NewBadRequest(fmt.Sprintf("error decoding patch: %v", err))
	}
	if r.directive == metav1.FieldValidationIgnore {
		return nil
	}
	if err := yaml.UnmarshalStrict(r.body, &map[string]any{}); err != nil {
		if r.directive == metav1.FieldValidationStrict {
			return apierrors.NewBadRequest(fmt.Sprintf("error strict decoding patch: %v", err))
		}
		warn(ctx, []error{err})
	}
	return nil
}

// undeclared returns the error for fields that the schema does not have, in the words of Kubernetes' server-side apply. Kubernetes sends
// it with status 500, although the request is at fault.
func (r *request) undeclared(paths []string) error {
	var errs typed.ValidationErrors
	for _, path := range paths {
		errs = append(errs, typed.ValidationError{Path: "." + path, ErrorMessage: "field not declared in schema"})
	}
	return apierrors.NewBadRequest(fmt.Sprintf("failed to create typed patch object (%s; %s): %v",
		strings.TrimPrefix(r.namespace+"/"+r.name, "/"), r.Version.GroupVersionKind(), errs))
}

// fromApply returns the old object with the configuration. The result conforms.
func (r *request) fromApply(old *object.Object) (*object.Object, error) {
	obj, err := r.Fields.Apply(old, fields.Configuration{Content: r.configuration, Manager: r.manager, Force: r.force})
	if err != nil {
		return nil, err
	}
	if old == nil && obj.GetUID() != "" {
		return nil, apierrors.NewConflict(r.Scope.Resource.GroupResource(), r.name,
			fmt.Errorf("uid mismatch: the provided object specified uid %s, and no existing object was found", obj.GetUID()))
	}
	if old != nil && obj.GetUID() != "" && obj.GetUID() != old.GetUID() {
		// As in Kubernetes, the UID of a configuration is a field that cannot change, and no precondition.
		return nil, apierrors.NewInvalid(r.Version.Kind.GroupKind, r.name, field.ErrorList{
			field.Invalid(field.NewPath("metadata", "uid"), obj.GetUID(), validation.FieldImmutableErrorMsg),
		})
	}
	if err := r.checkTarget(obj); err != nil {
		return nil, err
	}
	dropEmptyMetadata(obj)
	r.Version.Conform(obj.Object)
	return obj, nil
}

// dropEmptyMetadata removes empty maps and lists from the metadata, as decoding does with those of other writes. A manager that applied
// one still owns it.
func dropEmptyMetadata(obj *object.Object) {
	metadata, _ := obj.Object["metadata"].(map[string]any)
	for _, key := range []string{"labels", "annotations", "finalizers", "ownerReferences"} {
		switch v := metadata[key].(type) {
		case map[string]any:
			if len(v) == 0 {
				delete(metadata, key)
			}
		case []any:
			if len(v) == 0 {
				delete(metadata, key)
			}
		}
	}
}
