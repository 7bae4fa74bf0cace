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
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// This file holds the checks for single fields that many rules share.

const (
	notNegative = apivalidation.IsNegativeErrorMsg
	notZero     = "must be greater than 0"
)

// validString returns a check that calls a validator for a string. It accepts the empty string; require and notRequired
// decide whether the field may be empty.
func validString[S ~string](validate func(string) []string) func(*report, S) {
	return func(r *report, s S) {
		if s != "" {
			r.invalidAll(string(s), validate(string(s)))
		}
	}
}

func dnsLabel(r *report, s string)     { validString[string](validation.IsDNS1123Label)(r, s) }
func dnsSubdomain(r *report, s string) { validString[string](validation.IsDNS1123Subdomain)(r, s) }

// eachItem returns a check that runs the checks for each item of a list.
func eachItem[E any](checks ...func(*report, E)) func(*report, []E) {
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

// atMostItems returns a check that a list has at most so many items.
func atMostItems[E any](most int) func(*report, []E) {
	return func(r *report, list []E) {
		if len(list) > most {
			r.add(field.ErrorList{field.TooMany(r.path(), len(list), most)})
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

// within returns a check that a number is at least low and at most high.
func within[N number](low, high int) func(*report, N) {
	return func(r *report, n N) {
		if int64(n) < int64(low) || int64(n) > int64(high) {
			r.invalid(int64(n), validation.InclusiveRangeError(low, high))
		}
	}
}

func port(r *report, n int32) { within[int32](1, 65535)(r, n) }

// portOrName checks a port number or a port name.
func portOrName(r *report, p intstr.IntOrString) {
	if p.Type == intstr.Int {
		r.invalidAll(p.IntVal, validation.IsValidPortNum(p.IntValue()))
		return
	}
	r.invalidAll(p.StrVal, validation.IsValidPortName(p.StrVal))
}

// countOrPercent checks that a number is not negative and that a string is a percentage.
func countOrPercent(r *report, v intstr.IntOrString) {
	if v.Type == intstr.Int {
		nonNegative(r, v.IntVal)
		return
	}
	r.invalidAll(v.StrVal, validation.IsValidPercent(v.StrVal))
}

// atMost100Percent rejects a percentage above 100.
func atMost100Percent(r *report, v intstr.IntOrString) {
	if percent, ok := percentage(v); ok && percent > 100 {
		r.invalid(v.StrVal, "must not be greater than 100%")
	}
}

// percentage returns the number of a percentage, or false for any other value.
func percentage(v intstr.IntOrString) (int, bool) {
	if v.Type != intstr.String || len(validation.IsValidPercent(v.StrVal)) > 0 {
		return 0, false
	}
	var n int
	_, err := fmt.Sscanf(strings.TrimSuffix(v.StrVal, "%"), "%d", &n)
	return n, err == nil
}

// isZero reports whether a value is nil, 0 or 0%, or no number.
func isZero(v *intstr.IntOrString) bool {
	if v == nil {
		return true
	}
	if percent, ok := percentage(*v); ok {
		return percent == 0
	}
	return v.IntValue() == 0
}

func labelSet(r *report, set map[string]string) {
	if len(set) > 0 {
		r.add(metavalidation.ValidateLabels(set, r.path()))
	}
}

func labelKey(r *report, s string) {
	r.invalidAll(s, validation.IsQualifiedName(s))
}

func ip(r *report, s string) { knownIP()(r, s) }

// knownIP returns a check of an IP address. Addresses that are stored already may have a form that is not allowed any more.
func knownIP(stored ...string) func(*report, string) {
	return func(r *report, s string) { r.add(validation.IsValidIPForLegacyField(r.path(), s, true, stored)) }
}

// knownCIDR returns a check of a range of addresses. Ranges that are stored already may have a form that is not allowed any
// more.
func knownCIDR(stored ...string) func(*report, string) {
	return func(r *report, s string) { r.add(validation.IsValidCIDRForLegacyField(r.path(), s, true, stored)) }
}

func absolute(r *report, s string) {
	if !strings.HasPrefix(s, "/") {
		r.invalid(s, "must be an absolute path")
	}
}

// selectorMatches reports whether a selector matches the labels. It is also true for an empty selector and for an invalid
// one, for which another check adds an error.
func selectorMatches(selector *metav1.LabelSelector, set map[string]string) bool {
	s, err := metav1.LabelSelectorAsSelector(selector)
	return err != nil || s.Empty() || s.Matches(labels.Set(set))
}

// selectorRules are the rules for label selectors, in all kinds.
func selectorRules() []rule {
	return []rule{
		notRequired[metav1.LabelSelectorRequirement]("key"),
		notRequired[metav1.LabelSelectorRequirement]("operator"),
		onStruct(func(r *report, s *metav1.LabelSelector) {
			if len(s.MatchLabels)+len(s.MatchExpressions) > 0 {
				r.add(metavalidation.ValidateLabelSelector(s, metavalidation.LabelSelectorValidationOptions{}, r.path()))
			}
		}),
	}
}
