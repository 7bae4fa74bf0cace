package definition

import (
	"fmt"
	"math"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// validateScale validates the values that the scale subresource reads.
func (c *Compiled) validateScale(obj map[string]any) field.ErrorList {
	scale := c.Scale()
	if scale == nil {
		return nil
	}
	return append(validateReplicas(obj, scale.SpecReplicasPath), c.validateScaleStatus(obj)...)
}

func (c *Compiled) validateScaleStatus(obj map[string]any) field.ErrorList {
	scale := c.Scale()
	if scale == nil {
		return nil
	}
	errs := validateReplicas(obj, scale.StatusReplicasPath)
	if scale.LabelSelectorPath != nil {
		if selector, _, err := unstructured.NestedString(obj, fieldsOf(*scale.LabelSelectorPath)...); err != nil {
			errs = append(errs, field.Invalid(field.NewPath(*scale.LabelSelectorPath), selector, err.Error()))
		}
	}
	return errs
}

func validateReplicas(obj map[string]any, path string) field.ErrorList {
	replicas, _, err := unstructured.NestedInt64(obj, fieldsOf(path)...)
	detail := ""
	switch {
	case err != nil:
		detail = err.Error()
	case replicas < 0:
		detail = "should be a non-negative integer"
	case replicas > math.MaxInt32:
		detail = fmt.Sprintf("should be less than or equal to %v", math.MaxInt32)
	default:
		return nil
	}
	return field.ErrorList{field.Invalid(field.NewPath(path), replicas, detail)}
}

// fieldsOf splits a simple JSON path such as .spec.replicas into field names.
func fieldsOf(path string) []string {
	return strings.Split(strings.TrimPrefix(path, "."), ".")
}
