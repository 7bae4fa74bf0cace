package fieldownership

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/internal/access/rbac"
	"holdfast.dev/holdfast/internal/apiserver/requestbody"
	"holdfast.dev/holdfast/ownership"
)

// rulesField is the field of a ClusterRole that the aggregation controller computes, if the role has an aggregationRule.
const rulesField = "rules"

// isAggregated says whether an object is a ClusterRole whose rules the aggregation controller computes.
func isAggregated(obj any) bool {
	role, ok := obj.(*rbacv1.ClusterRole)
	return ok && role.AggregationRule != nil
}

// isRoleApply says whether a request applies a ClusterRole on the server, and is not one of the aggregation controller of
// kube-controller-manager.
func (r *request) isRoleApply(info *genericapirequest.RequestInfo) bool {
	return r.serverSide && r.writer.Manager != rbac.AggregationManager &&
		info.APIGroup == rbacv1.GroupName && info.Resource == "clusterroles" && info.Subresource == ""
}

// dropAggregated removes the rules from an applied ClusterRole with an aggregationRule. The apply would otherwise have a
// conflict with the aggregation controller, or with force take the rules from it. The body stays if it cannot be read; the
// handler then says why.
func dropAggregated(req *http.Request, limit int64) {
	body, err := requestbody.Peek(req, limit)
	if err != nil {
		return
	}
	var role map[string]json.RawMessage
	if yaml.UnmarshalStrict(body, &role) != nil || role[rulesField] == nil ||
		role["aggregationRule"] == nil || string(role["aggregationRule"]) == "null" {
		return
	}
	delete(role, rulesField)
	if body, err = json.Marshal(role); err == nil {
		requestbody.Replace(req, body)
	}
}

// keepAggregated keeps the rules of an aggregated ClusterRole, and their owner, if the write is an apply: the file of a
// client has no rules of such a role, or those of the day on which it was written. kube-apiserver stores the rules of the
// file, and the controller computes them again: for a moment, the users of the role lose their rights.
func (r *request) keepAggregated(u Update) {
	live, ok := u.Live.(*rbacv1.ClusterRole)
	updated, okNew := u.New.(*rbacv1.ClusterRole)
	if !ok || !okNew || live.AggregationRule == nil || updated.AggregationRule == nil || !r.appliesRules(live, updated) {
		return
	}
	updated.Rules = live.DeepCopy().Rules
	updated.ManagedFields = keepOwner(updated.ManagedFields, live.ManagedFields)
}

// appliesRules says whether a write is an apply. A client without a known command, such as Argo CD, applies if it sets the
// rules to those of the last-applied configuration.
func (r *request) appliesRules(live, updated *rbacv1.ClusterRole) bool {
	switch {
	case r.writer.Manager == rbac.AggregationManager:
		return false
	case r.serverSide || r.writer.Act == ownership.Apply:
		return true
	case r.writer.Exact || apiequality.Semantic.DeepEqual(live.Rules, updated.Rules):
		return false
	}
	var applied rbacv1.ClusterRole
	return json.Unmarshal([]byte(appliedTo(updated)), &applied) == nil && apiequality.Semantic.DeepEqual(applied.Rules, updated.Rules)
}

// keepOwner returns the entries of updated managed fields, of which the same ones own the rules as before.
func keepOwner(updated, before []metav1.ManagedFieldsEntry) []metav1.ManagedFieldsEntry {
	rules := fieldpath.MakePathOrDie(rulesField)
	kept := make([]metav1.ManagedFieldsEntry, 0, len(updated))
	for _, entry := range updated {
		set := fieldsOf(entry)
		was := slices.IndexFunc(before, func(old metav1.ManagedFieldsEntry) bool { return isSameManager(old, entry) })
		owned := was >= 0 && fieldsOf(before[was]).Has(rules)
		switch {
		case owned == set.Has(rules):
		case owned:
			set.Insert(rules)
			entry.FieldsV1 = encodeFields(set)
		default:
			if set = set.Difference(fieldpath.NewSet(rules)); set.Empty() {
				continue
			}
			entry.FieldsV1 = encodeFields(set)
		}
		kept = append(kept, entry)
	}
	for _, entry := range before {
		gone := !slices.ContainsFunc(kept, func(one metav1.ManagedFieldsEntry) bool { return isSameManager(one, entry) })
		if gone && fieldsOf(entry).Has(rules) {
			// The entry had no other field, so that the write removed it.
			entry.FieldsV1 = encodeFields(fieldpath.NewSet(rules))
			kept = append(kept, entry)
		}
	}
	return kept
}

func isSameManager(a, b metav1.ManagedFieldsEntry) bool {
	return a.Manager == b.Manager && a.Operation == b.Operation && a.APIVersion == b.APIVersion && a.Subresource == b.Subresource
}

// fieldsOf returns the fields of an entry, none if it is malformed.
func fieldsOf(entry metav1.ManagedFieldsEntry) *fieldpath.Set {
	set := &fieldpath.Set{}
	if entry.FieldsV1 == nil || set.FromJSON(bytes.NewReader(entry.FieldsV1.GetRawBytes())) != nil {
		return fieldpath.NewSet()
	}
	return set
}

func encodeFields(set *fieldpath.Set) *metav1.FieldsV1 {
	text, err := set.ToJSON()
	if err != nil {
		// The set was decoded from JSON.
		return nil
	}
	return metav1.NewFieldsV1(string(text))
}
