package rules

import (
	"fmt"
	"strings"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
)

// The checks of single fields that many rows of the table share.

const (
	notNegative = apivalidation.IsNegativeErrorMsg
	notZero     = "must be greater than 0"
)

// text holds a string to one of Kubernetes' validators. An empty string is no value: whether it may be empty is said
// by need and free.
func text[S ~string](says func(string) []string) func(*report, S) {
	return func(r *report, s S) {
		if s != "" {
			r.says(string(s), says(string(s)))
		}
	}
}

func dnsLabel(r *report, s string)      { text[string](validation.IsDNS1123Label)(r, s) }
func dnsSubdomain(r *report, s string)  { text[string](validation.IsDNS1123Subdomain)(r, s) }
func qualifiedName(r *report, s string) { text[string](validation.IsQualifiedName)(r, s) }

// items holds every element of a list to the checks of one.
func items[E any](checks ...func(*report, E)) func(*report, []E) {
	return func(r *report, list []E) {
		for i, e := range list {
			r.push(i)
			for _, check := range checks {
				check(r, e)
			}
			r.pop()
		}
	}
}

type number interface{ ~int32 | ~int64 }

func nonNegative[N number](r *report, n N) {
	if n < 0 {
		r.invalid(int64(n), notNegative)
	}
}

func positive[N number](r *report, n N) {
	if n <= 0 {
		r.invalid(int64(n), notZero)
	}
}

// within holds a number to a range, both ends included.
func within[N number](low, high int) func(*report, N) {
	return func(r *report, n N) {
		if int64(n) < int64(low) || int64(n) > int64(high) {
			r.invalid(int64(n), validation.InclusiveRangeError(low, high))
		}
	}
}

func port(r *report, n int32) { within[int32](1, 65535)(r, n) }

// portOrName holds a number to the range of ports and a string to the syntax of port names.
func portOrName(r *report, p intstr.IntOrString) {
	if p.Type == intstr.Int {
		r.says(p.IntVal, validation.IsValidPortNum(p.IntValue()))
		return
	}
	r.says(p.StrVal, validation.IsValidPortName(p.StrVal))
}

// countOrPercent holds a number to not being negative and a string to being a percentage.
func countOrPercent(r *report, v intstr.IntOrString) {
	if v.Type == intstr.Int {
		nonNegative(r, v.IntVal)
		return
	}
	r.says(v.StrVal, validation.IsValidPercent(v.StrVal))
}

// atMostAll refuses a percentage above 100.
func atMostAll(r *report, v intstr.IntOrString) {
	if percent, ok := percentage(v); ok && percent > 100 {
		r.invalid(v.StrVal, "must not be greater than 100%")
	}
}

// percentage is the number before the percent sign; false for anything but a percentage.
func percentage(v intstr.IntOrString) (int, bool) {
	if v.Type != intstr.String || len(validation.IsValidPercent(v.StrVal)) > 0 {
		return 0, false
	}
	var n int
	_, err := fmt.Sscanf(strings.TrimSuffix(v.StrVal, "%"), "%d", &n)
	return n, err == nil
}

// isZero tells 0 and 0% from every other valid value.
func isZero(v *intstr.IntOrString) bool {
	if v == nil || v.Type == intstr.Int {
		return v == nil || v.IntVal == 0
	}
	percent, ok := percentage(*v)
	return ok && percent == 0
}

func labelSet(r *report, set map[string]string) {
	if len(set) > 0 {
		r.add(metavalidation.ValidateLabels(set, r.path()))
	}
}

func labelKey(r *report, s string) {
	r.says(s, validation.IsQualifiedName(s))
}

func ip(r *report, s string) {
	r.add(validation.IsValidIPForLegacyField(r.path(), s, false, nil))
}

func cidr(r *report, s string) {
	r.add(validation.IsValidCIDRForLegacyField(r.path(), s, false, nil))
}

func absolute(r *report, s string) {
	if s != "" && !strings.HasPrefix(s, "/") {
		r.invalid(s, "must be an absolute path")
	}
}

// selects tells whether the selector takes the labels; true too for one that cannot be read, which has an error of its own.
func selects(selector *metav1.LabelSelector, set map[string]string) bool {
	s, err := metav1.LabelSelectorAsSelector(selector)
	return err != nil || s.Empty() || s.Matches(labels.Set(set))
}

// selectorRules hold for every label selector in every kind.
func selectorRules() []rule {
	return []rule{
		free[metav1.LabelSelectorRequirement]("key"),
		free[metav1.LabelSelectorRequirement]("operator"),
		each(func(r *report, s *metav1.LabelSelector) {
			if len(s.MatchLabels)+len(s.MatchExpressions) > 0 {
				r.add(metavalidation.ValidateLabelSelector(s, metavalidation.LabelSelectorValidationOptions{}, r.path()))
			}
		}),
	}
}
