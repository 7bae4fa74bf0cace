package frozen

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"

	"holdfast.dev/holdfast/immutability"
	"holdfast.dev/holdfast/value"
)

// The exceptions of the table.
var (
	// A Service of type ExternalName has no cluster IP. A change to or from this type releases
	// or allocates one.
	serviceWithoutAddress = &immutability.Exception{
		Name: "the Service has no address, or is or was of type ExternalName",
		Allows: func(c immutability.Change) bool {
			return isEmpty(c.Old) || at(c.OldObject, "spec", "type") == "ExternalName" || at(c.NewObject, "spec", "type") == "ExternalName"
		},
	}
	// A smaller request ends an expansion that failed. The volume itself does not shrink.
	storageGrows = &immutability.Exception{
		Name: "the claim is bound, and the request grows or stays above the capacity",
		Allows: func(c immutability.Change) bool {
			return isBound(c) && (grows(c.Old, c.New) || grows(at(c.NewObject, "status", "capacity", "storage"), c.New))
		},
	}
	whileBound = &immutability.Exception{
		Name:   "the claim is bound",
		Allows: isBound,
	}
	setOnce = &immutability.Exception{
		Name:   "it was not set before",
		Allows: func(c immutability.Change) bool { return isEmpty(c.Old) },
	}
	withoutPods = &immutability.Exception{
		Name: "the Job is suspended and has no pods",
		Allows: func(c immutability.Change) bool {
			status, _ := at(c.OldObject, "status").(map[string]any)
			_, isStarted := status["startTime"]
			return at(c.OldObject, "spec", "suspend") == true && isEmptyNumber(status["active"]) && (!isStarted || isSuspended(status))
		},
	}
	// An indexed Job is scaled by setting completions and parallelism to the same number.
	elasticJob = &immutability.Exception{
		Name: "the Job is Indexed and parallelism is the same number",
		Allows: func(c immutability.Change) bool {
			return at(c.NewObject, "spec", "completionMode") == "Indexed" && value.Strict.Equal(at(c.NewObject, "spec", "parallelism"), c.New)
		},
	}
	whileGated = &immutability.Exception{
		Name: "the Pod waits for scheduling gates and the selector is only added to",
		Allows: func(c immutability.Change) bool {
			gates, _ := at(c.OldObject, "spec", "schedulingGates").([]any)
			return len(gates) > 0 && contains(c.New, c.Old)
		},
	}
	deadlineSooner = &immutability.Exception{
		Name:   "the deadline is set, or comes sooner",
		Allows: func(c immutability.Change) bool { return isEmpty(c.Old) || atMost(c.New, c.Old) },
	}
	// Old versions of Kubernetes accepted negative grace periods and treated them as 1 second.
	graceRepaired = &immutability.Exception{
		Name: "a negative period becomes 1",
		Allows: func(c immutability.Change) bool {
			old, ok := c.Old.(int64)
			return ok && old < 0 && c.New == int64(1)
		},
	}
)

// isBound reports whether a claim has a volume. A manifest has no status, and its claim may have a volume.
func isBound(c immutability.Change) bool {
	phase := at(c.NewObject, "status", "phase")
	return isEmpty(phase) || phase == "Bound"
}

func isEmpty(v any) bool { return v == nil || v == "" }

func isEmptyNumber(v any) bool { return v == nil || v == int64(0) }

// isSuspended reports whether the status of a Job says that its controller has deleted its pods.
func isSuspended(status map[string]any) bool {
	conditions, _ := status["conditions"].([]any)
	return slices.ContainsFunc(conditions, func(condition any) bool {
		c, _ := condition.(map[string]any)
		return c["type"] == "Suspended" && c["status"] == "True"
	})
}

// at returns the value at a path below obj, or nil if there is none.
func at(obj map[string]any, names ...string) any {
	var found any = obj
	for _, name := range names {
		below, ok := found.(map[string]any)
		if !ok {
			return nil
		}
		found = below[name]
	}
	return found
}

func grows(oldValue, newValue any) bool {
	oldText, oldOK := oldValue.(string)
	newText, newOK := newValue.(string)
	if !oldOK || !newOK {
		return false
	}
	oldQuantity, oldErr := resource.ParseQuantity(oldText)
	newQuantity, newErr := resource.ParseQuantity(newText)
	return oldErr == nil && newErr == nil && newQuantity.Cmp(oldQuantity) > 0
}

// atMost reports whether a value is set and no larger than a limit.
func atMost(v, limit any) bool { return v != nil && value.Strict.Compare(v, limit) <= 0 }

// contains reports whether a map has every entry of another.
func contains(outer, inner any) bool {
	all, _ := outer.(map[string]any)
	some, _ := inner.(map[string]any)
	for key, entry := range some {
		if !value.Strict.Equal(value.Strict.Field(all, key), entry) {
			return false
		}
	}
	return true
}
