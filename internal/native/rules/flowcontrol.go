package rules

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apiserver/pkg/apis/flowcontrol/bootstrap"
	"k8s.io/apiserver/pkg/util/shufflesharding"
)

const (
	maxQueues = 10_000_000

	notNegativeInteger = "must be a non-negative integer"
)

// flowVerbs are the verbs that a rule of a FlowSchema can have.
var flowVerbs = []string{"create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch"}

func flowRules() []rule {
	return []rule{
		onStruct(flowSchema),
		onField[flowcontrolv1.FlowSchemaSpec]("matchingPrecedence", func(r *report, n int32) {
			if n <= 0 {
				r.invalid(n, "must be a positive value")
			}
			if n > flowcontrolv1.FlowSchemaMaxMatchingPrecedence {
				r.invalid(n, fmt.Sprintf("must not be greater than %v", flowcontrolv1.FlowSchemaMaxMatchingPrecedence))
			}
		}),
		notRequired[flowcontrolv1.FlowDistinguisherMethod]("type"),
		onField[flowcontrolv1.FlowDistinguisherMethod]("type", func(r *report, t flowcontrolv1.FlowDistinguisherMethodType) {
			if t != flowcontrolv1.FlowDistinguisherMethodByNamespaceType && t != flowcontrolv1.FlowDistinguisherMethodByUserType {
				r.unsupported(t, []string{"ByNamespace", "ByUser"})
			}
		}),
		require[flowcontrolv1.PriorityLevelConfigurationReference]("name", "must reference a priority level"),
		onField[flowcontrolv1.PriorityLevelConfigurationReference]("name", dnsSubdomain),
		require[flowcontrolv1.PolicyRulesWithSubjects]("subjects", "subjects must contain at least one value"),
		onStruct(func(r *report, p *flowcontrolv1.PolicyRulesWithSubjects) {
			if len(p.ResourceRules) == 0 && len(p.NonResourceRules) == 0 {
				r.required("at least one of resourceRules and nonResourceRules has to be non-empty")
			}
		}),

		notRequired[flowcontrolv1.Subject]("kind"),
		skip[flowcontrolv1.Subject]("serviceAccount"), // checked by flowSubject
		skip[flowcontrolv1.Subject]("user"),
		skip[flowcontrolv1.Subject]("group"),
		onStruct(flowSubject),
		onField[flowcontrolv1.ServiceAccountSubject]("name", func(r *report, name string) {
			if name != flowcontrolv1.NameAll {
				validString[string](nameOf(apivalidation.ValidateServiceAccountName))(r, name)
			}
		}),
		require[flowcontrolv1.ServiceAccountSubject]("namespace", "must specify namespace for service account"),
		onField[flowcontrolv1.ServiceAccountSubject]("namespace", validString[string](nameOf(apivalidation.ValidateNamespaceName))),

		require[flowcontrolv1.ResourcePolicyRule]("verbs", "verbs must contain at least one value"),
		onField[flowcontrolv1.ResourcePolicyRule]("verbs", flowVerbList),
		require[flowcontrolv1.ResourcePolicyRule]("apiGroups", "resource rules must supply at least one api group"),
		onField[flowcontrolv1.ResourcePolicyRule]("apiGroups", wildcardAlone("api groups")),
		require[flowcontrolv1.ResourcePolicyRule]("resources", "resource rules must supply at least one resource"),
		onField[flowcontrolv1.ResourcePolicyRule]("resources", wildcardAlone("resources")),
		notRequired[flowcontrolv1.ResourcePolicyRule]("namespaces"),
		onStruct(flowNamespaces),

		require[flowcontrolv1.NonResourcePolicyRule]("verbs", "verbs must contain at least one value"),
		onField[flowcontrolv1.NonResourcePolicyRule]("verbs", flowVerbList),
		require[flowcontrolv1.NonResourcePolicyRule]("nonResourceURLs", "nonResourceURLs must contain at least one value"),
		onField[flowcontrolv1.NonResourcePolicyRule]("nonResourceURLs", flowURLs),

		oneOf[flowcontrolv1.PriorityLevelConfigurationSpec]("type"),
		notRequired[flowcontrolv1.PriorityLevelConfigurationSpec]("type"),
		skip[flowcontrolv1.PriorityLevelConfigurationSpec]("limited"), // checked by priorityLevel
		skip[flowcontrolv1.PriorityLevelConfigurationSpec]("exempt"),
		onStruct(priorityLevel),
		notRequired[flowcontrolv1.LimitedPriorityLevelConfiguration]("nominalConcurrencyShares"),
		onField[flowcontrolv1.LimitedPriorityLevelConfiguration]("nominalConcurrencyShares", shares),
		onField[flowcontrolv1.LimitedPriorityLevelConfiguration]("lendablePercent", percent),
		onField[flowcontrolv1.LimitedPriorityLevelConfiguration]("borrowingLimitPercent", func(r *report, n int32) {
			if n < 0 {
				r.invalid(n, "if specified, "+notNegativeInteger)
			}
		}),
		onField[flowcontrolv1.ExemptPriorityLevelConfiguration]("nominalConcurrencyShares", shares),
		onField[flowcontrolv1.ExemptPriorityLevelConfiguration]("lendablePercent", percent),
		notRequired[flowcontrolv1.LimitResponse]("type"),
		skip[flowcontrolv1.LimitResponse]("queuing"), // checked by limitResponse
		onStruct(limitResponse),
		onStruct(queuing),
	}
}

// flowSchema checks that mandatory FlowSchemas have their fixed spec, and that only the one named exempt has precedence 1.
func flowSchema(r *report, s *flowcontrolv1.FlowSchema) {
	if s.Spec.MatchingPrecedence == 1 && s.Name != flowcontrolv1.FlowSchemaNameExempt {
		r.invalid(s.Spec.MatchingPrecedence, "only the schema named 'exempt' may have matchingPrecedence 1", "spec", "matchingPrecedence")
	}
	for _, mandatory := range bootstrap.MandatoryFlowSchemas {
		if mandatory.Name == s.Name && !apiequality.Semantic.DeepEqual(s.Spec, mandatory.Spec) {
			r.invalid(s.Spec, fmt.Sprintf("spec of '%s' must equal the fixed value", s.Name), "spec")
		}
	}
}

// flowSubject checks that a subject has the field for its kind and no other one.
func flowSubject(r *report, s *flowcontrolv1.Subject) {
	fields := []struct {
		kind  flowcontrolv1.SubjectKind
		name  string
		value reflect.Value
	}{
		{flowcontrolv1.SubjectKindServiceAccount, "serviceAccount", reflect.ValueOf(s.ServiceAccount)},
		{flowcontrolv1.SubjectKindUser, "user", reflect.ValueOf(s.User)},
		{flowcontrolv1.SubjectKindGroup, "group", reflect.ValueOf(s.Group)},
	}
	known := false
	for _, f := range fields {
		known = known || f.kind == s.Kind
	}
	if !known {
		r.unsupported(s.Kind, []string{"Group", "ServiceAccount", "User"}, "kind")
		return
	}
	for _, f := range fields {
		switch {
		case f.kind == s.Kind && f.value.IsNil():
			r.required(fmt.Sprintf("%s is required when subject kind is '%s'", f.name, f.kind), f.name)
		case f.kind == s.Kind:
			r.walkBelow(f.value, f.name)
		case !f.value.IsNil():
			r.forbidden(fmt.Sprintf("%s is forbidden when subject kind is not '%s'", f.name, f.kind), f.name)
		}
	}
}

func flowVerbList(r *report, verbs []string) {
	if slices.Contains(verbs, flowcontrolv1.VerbAll) {
		wildcardAlone("verbs")(r, verbs)
		return
	}
	if slices.ContainsFunc(verbs, func(verb string) bool { return !slices.Contains(flowVerbs, verb) }) {
		r.unsupported(verbs, flowVerbs)
	}
}

func flowNamespaces(r *report, p *flowcontrolv1.ResourcePolicyRule) {
	switch {
	case len(p.Namespaces) == 0 && !p.ClusterScope:
		r.required("resource rules that are not cluster scoped must supply at least one namespace", "namespaces")
	case slices.Contains(p.Namespaces, flowcontrolv1.NamespaceEvery):
		r.under(func() { wildcardAlone("namespaces")(r, p.Namespaces) }, "namespaces")
	default:
		for i, namespace := range p.Namespaces {
			for _, message := range apivalidation.ValidateNamespaceName(namespace, false) {
				r.invalid(namespace, "each member of this list must be '*' or a DNS-1123 label; "+message, "namespaces", i)
			}
		}
	}
}

func flowURLs(r *report, urls []string) {
	if slices.Contains(urls, flowcontrolv1.NonResourceAll) {
		wildcardAlone("non-resource URLs")(r, urls)
		return
	}
	for i, url := range urls {
		stars := strings.Count(url, "*")
		switch {
		case url == "":
			r.invalid(url, "must not be empty", i)
		case !strings.HasPrefix(url, "/"):
			r.invalid(url, "must start with slash", i)
		case strings.Contains(url, " "):
			r.invalid(url, "must not contain white-space", i)
		case strings.Contains(url, "//"):
			r.invalid(url, "must not contain double slash", i)
		case stars > 1 || (stars == 1 && !strings.HasSuffix(url, "/*")):
			r.invalid(url, "wildcard can only do suffix matching", i)
		}
	}
}

// priorityLevel checks that a level has the fields of its type, and that mandatory levels have their fixed spec. Only the
// field exempt of the level named exempt may differ from it.
func priorityLevel(r *report, l *flowcontrolv1.PriorityLevelConfiguration) {
	isExempt := l.Spec.Type == flowcontrolv1.PriorityLevelEnablementExempt
	if (l.Name == flowcontrolv1.PriorityLevelConfigurationNameExempt) != isExempt {
		r.invalid(l.Spec.Type, "must be 'Exempt' if and only if `name` is 'exempt'", "spec", "type")
	}
	switch l.Spec.Type {
	case flowcontrolv1.PriorityLevelEnablementExempt:
		if l.Spec.Limited != nil {
			r.forbidden("must be nil if the type is not Limited", "spec", "limited")
		}
		r.walkBelow(reflect.ValueOf(l.Spec.Exempt), "spec", "exempt")
	case flowcontrolv1.PriorityLevelEnablementLimited:
		if l.Spec.Exempt != nil {
			r.forbidden("must be nil if the type is Limited", "spec", "exempt")
		}
		if l.Spec.Limited == nil {
			r.required("must not be empty when type is Limited", "spec", "limited")
		}
		r.walkBelow(reflect.ValueOf(l.Spec.Limited), "spec", "limited")
	case "":
		r.required("", "spec", "type")
	default:
		r.unsupported(l.Spec.Type, []string{"Exempt", "Limited"}, "spec", "type")
	}
	for _, mandatory := range bootstrap.MandatoryPriorityLevelConfigurations {
		if mandatory.Name != l.Name {
			continue
		}
		spec, message := l.Spec, fmt.Sprintf("spec of '%s' must equal the fixed value", l.Name)
		if l.Name == flowcontrolv1.PriorityLevelConfigurationNameExempt {
			spec.Exempt = mandatory.Spec.Exempt
			message = fmt.Sprintf("spec of '%s' except the 'spec.exempt' field must equal the fixed value", l.Name)
		}
		if !apiequality.Semantic.DeepEqual(spec, mandatory.Spec) {
			r.invalid(l.Spec, message, "spec")
		}
	}
}

func shares(r *report, n int32) {
	if n < 0 {
		r.invalid(n, notNegativeInteger)
	}
}

func percent(r *report, n int32) {
	if n < 0 || n > 100 {
		r.invalid(n, "must be between 0 and 100, inclusive")
	}
}

func limitResponse(r *report, l *flowcontrolv1.LimitResponse) {
	switch l.Type {
	case flowcontrolv1.LimitResponseTypeReject:
		if l.Queuing != nil {
			r.forbidden("must be nil if limited.limitResponse.type is not Limited", "queuing")
		}
	case flowcontrolv1.LimitResponseTypeQueue:
		if l.Queuing == nil {
			r.required("must not be empty if limited.limitResponse.type is Limited", "queuing")
		}
		r.walkBelow(reflect.ValueOf(l.Queuing), "queuing")
	case "":
		r.required("", "type")
	default:
		r.unsupported(l.Type, []string{"Queue", "Reject"}, "type")
	}
}

func queuing(r *report, q *flowcontrolv1.QueuingConfiguration) {
	if q.QueueLengthLimit <= 0 {
		r.invalid(q.QueueLengthLimit, "must be positive", "queueLengthLimit")
	}
	switch {
	case q.Queues <= 0:
		r.invalid(q.Queues, "must be positive", "queues")
	case q.Queues > maxQueues:
		r.invalid(q.Queues, fmt.Sprintf("must not be greater than %d", maxQueues), "queues")
	}
	switch {
	case q.HandSize <= 0:
		r.invalid(q.HandSize, "must be positive", "handSize")
	case q.HandSize > q.Queues:
		r.invalid(q.HandSize, fmt.Sprintf("should not be greater than queues (%d)", q.Queues), "handSize")
	case shufflesharding.RequiredEntropyBits(int(q.Queues), int(q.HandSize)) > shufflesharding.MaxHashBits:
		r.invalid(q.HandSize, fmt.Sprintf("required entropy bits of deckSize %d and handSize %d should not be greater than %d",
			q.Queues, q.HandSize, shufflesharding.MaxHashBits), "handSize")
	}
}

// nameOf converts a validator for names of objects to one for strings.
func nameOf(validate apivalidation.ValidateNameFunc) func(string) []string {
	return func(name string) []string { return validate(name, false) }
}
