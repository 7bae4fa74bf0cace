package definition

import (
	"strings"

	apiservervalidation "k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"holdfast.dev/holdfast/schema"
	"holdfast.dev/holdfast/skeleton"
)

func hasDefaults(s *schema.Schema) bool {
	found := false
	schema.Walk(s, func(v *schema.Visit) bool {
		found = found || v.Schema.Default != nil
		return !found
	})
	return found
}

// validateDefaults validates defaults against what the structural form of a
// schema omits: logic, patterns, and fields without a type. It skips a default
// that has an error in reported already. Like upstream, it does not validate
// below additionalProperties or in the metadata of objects.
func validateDefaults(r *readVersion, reported field.ErrorList) field.ErrorList {
	var errs field.ErrorList
	schema.Walk(r.schema, func(v *schema.Visit) bool {
		if v.InLogic || v.Edge == schema.AdditionalProperty || isObjectMeta(v) {
			return false
		}
		if v.Schema.Default == nil || v.Parent == nil {
			return true
		}
		path := below(schemaPath(r.index), v.Path).Child("default")
		if !isReported(path, reported) {
			errs = append(errs, validateDefault(v, path)...)
		}
		return true
	})
	return errs
}

func validateDefault(v *schema.Visit, path *field.Path) field.ErrorList {
	fallback := v.Schema.Default
	var errs field.ErrorList
	if !isUnpruned(v) {
		holder := skeleton.Build(&schema.Schema{Properties: map[string]*schema.Schema{"default": v.Schema}})
		pruned := map[string]any{"default": runtime.DeepCopyJSONValue(fallback)}
		if len(holder.PrunePaths(pruned)) > 0 {
			errs = append(errs, field.Invalid(path, fallback, "must not have unknown fields"))
		}
	}
	validator, _, err := apiservervalidation.NewSchemaValidator(typing{omitDocs: true}.of(dropFalse(v.Schema)))
	if err != nil {
		return append(errs, field.Invalid(path, fallback, err.Error()))
	}
	return append(errs, apiservervalidation.ValidateCustomResource(path, fallback, validator)...)
}

// isUnpruned reports whether a node is below x-kubernetes-no-prune or has it.
func isUnpruned(v *schema.Visit) bool {
	for ; v != nil; v = v.Parent {
		if schema.IsTrue(v.Schema.NoPrune) {
			return true
		}
	}
	return false
}

// isObjectMeta reports whether a node is the apiVersion, kind or metadata of a
// Kubernetes object. Upstream validates these as a whole.
func isObjectMeta(v *schema.Visit) bool {
	if v.Edge != schema.Property || v.Parent.Parent != nil && !v.Parent.Schema.EmbeddedResource {
		return false
	}
	return v.Name == "metadata" || v.Name == "kind" || v.Name == "apiVersion"
}

func isReported(path *field.Path, errs field.ErrorList) bool {
	at := path.String()
	for _, err := range errs {
		if strings.HasPrefix(err.Field, at) {
			return true
		}
	}
	return false
}
