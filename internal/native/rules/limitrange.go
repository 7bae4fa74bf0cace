package rules

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
)

func limitRangeRules() []rule {
	return []rule{
		notRequired[corev1.LimitRangeSpec]("limits"),
		onField[corev1.LimitRangeSpec]("limits", func(r *report, limits []corev1.LimitRangeItem) {
			for i, l := range limits {
				if slices.ContainsFunc(limits[:i], func(o corev1.LimitRangeItem) bool { return o.Type == l.Type }) {
					r.duplicate(string(l.Type), i, "type")
				}
			}
		}),
		notRequired[corev1.LimitRangeItem]("type"),
		onField[corev1.LimitRangeItem]("type", limitName),
		onStruct(limitRange),
	}
}

// limitName checks the type of a limit. It has to be a type of Kubernetes or have a domain prefix.
func limitName(r *report, name corev1.LimitType) {
	switch name {
	case corev1.LimitTypePod, corev1.LimitTypeContainer, corev1.LimitTypePersistentVolumeClaim:
		return
	}
	if messages := validation.IsQualifiedName(string(name)); len(messages) > 0 {
		r.invalidAll(string(name), messages)
	} else if !strings.Contains(string(name), "/") {
		r.invalid(string(name), "must be a standard limit type or fully qualified")
	}
}

// limitResource checks that a limit of this type can limit the resource.
func limitResource(r *report, l *corev1.LimitRangeItem, name corev1.ResourceName) {
	if l.Type == corev1.LimitTypePod || l.Type == corev1.LimitTypeContainer {
		containerResource(r, name)
		return
	}
	resourceName(r, name)
}

// limitOrder lists pairs of fields of a limit. The quantity in lower must not be greater than the
// quantity in upper. at is the field in the path of the error, and detail is its message.
var limitOrder = []struct{ lower, upper, at, detail string }{
	{"min", "max", "min", "min value %s is greater than max value %s"},
	{"min", "defaultRequest", "defaultRequest", "min value %s is greater than default request value %s"},
	{"defaultRequest", "max", "defaultRequest", "default request value %s is greater than max value %s"},
	{"defaultRequest", "default", "defaultRequest", "default request value %s is greater than default limit value %s"},
	{"min", "default", "default", "min value %s is greater than default value %s"},
	{"default", "max", "default", "default value %s is greater than max value %s"},
}

func limitRange(r *report, l *corev1.LimitRangeItem) {
	limitType(r, l)
	names := map[corev1.ResourceName]bool{}
	lists := map[string]corev1.ResourceList{"max": l.Max, "min": l.Min, "maxLimitRequestRatio": l.MaxLimitRequestRatio}
	if l.Type != corev1.LimitTypePod { // a pod has no defaults
		lists["default"], lists["defaultRequest"] = l.Default, l.DefaultRequest
	}
	for _, field := range sortedKeys(lists) {
		for _, name := range sortedNames(lists[field]) {
			r.under(func() { limitResource(r, l, name) }, field, key(name))
			names[name] = true
		}
	}
	for _, name := range sortedNames(names) {
		for _, o := range limitOrder {
			low, hasLow := lists[o.lower][name]
			high, hasHigh := lists[o.upper][name]
			if hasLow && hasHigh && low.Cmp(high) > 0 {
				r.invalid(lists[o.at][name], fmt.Sprintf(o.detail, low.String(), high.String()), o.at, key(name))
			}
		}
		ratio, ok := l.MaxLimitRequestRatio[name]
		if ok && ratio.Cmp(resource.MustParse("1")) < 0 {
			r.invalid(ratio, fmt.Sprintf("ratio %s is less than 1", ratio.String()), "maxLimitRequestRatio", key(name))
		}
		limitRatio(r, l, name)
		limit, request := l.Default[name], l.DefaultRequest[name]
		_, hasLimit := l.Default[name]
		_, hasRequest := l.DefaultRequest[name]
		if !overcommitAllowed(name) && hasLimit && hasRequest && limit.Cmp(request) != 0 {
			r.invalid(request, fmt.Sprintf("default value %s must equal to defaultRequest value %s in %s", limit.String(), request.String(), l.Type),
				"defaultRequest", key(name))
		}
	}
}

func limitType(r *report, l *corev1.LimitRangeItem) {
	switch l.Type {
	case corev1.LimitTypePod:
		if len(l.Default) > 0 {
			r.forbidden("may not be specified when `type` is 'Pod'", "default")
		}
		if len(l.DefaultRequest) > 0 {
			r.forbidden("may not be specified when `type` is 'Pod'", "defaultRequest")
		}
	case corev1.LimitTypePersistentVolumeClaim:
		_, low := l.Min[corev1.ResourceStorage]
		_, high := l.Max[corev1.ResourceStorage]
		if !low && !high {
			r.required("either minimum or maximum storage value is required, but neither was provided", "limits")
		}
	}
}

// limitRatio rejects a maxLimitRequestRatio that is greater than max divided by min.
func limitRatio(r *report, l *corev1.LimitRangeItem, name corev1.ResourceName) {
	ratio, hasRatio := l.MaxLimitRequestRatio[name]
	low, hasLow := l.Min[name]
	high, hasHigh := l.Max[name]
	if !hasRatio || !hasLow || !hasHigh || low.IsZero() {
		return
	}
	// As in Kubernetes, divide the values in thousandths, unless they are too large for that.
	most := float64(high.MilliValue()) / float64(low.MilliValue())
	if high.Value() > resource.MaxMilliValue || low.Value() > resource.MaxMilliValue {
		most = float64(high.Value()) / float64(low.Value())
	}
	if float64(ratio.MilliValue())/1000 > most {
		r.invalid(ratio, fmt.Sprintf("ratio %s is greater than max/min = %f", ratio.String(), most), "maxLimitRequestRatio", key(name))
	}
}
