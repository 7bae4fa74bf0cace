package disclosure

import (
	"context"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Errors returns the errors of an update, without their values unless Allowed. The paths, the
// types and the details stay, so the client still reads which rule refuses which field. Errors
// changes no error of the argument.
func Errors(ctx context.Context, errs field.ErrorList) field.ErrorList {
	if len(errs) == 0 || Allowed(ctx) {
		return errs
	}
	out := make(field.ErrorList, len(errs))
	for i, err := range errs {
		hidden := *err
		hidden.BadValue = field.OmitValueType{}
		out[i] = &hidden
	}
	return out
}
