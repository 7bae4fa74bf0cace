package console

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apiserver/pkg/endpoints/request"

	"holdfast.dev/holdfast/api"
	"holdfast.dev/holdfast/immutability"
	"holdfast.dev/holdfast/internal/admission/keep"
	"holdfast.dev/holdfast/internal/apiserver/capture"
	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/internal/operator/plan"
	"holdfast.dev/holdfast/internal/policy"
	"holdfast.dev/holdfast/ownership"
)

// OverviewType is the media type of what there is to say about the objects of a list: those that are locked, that drift from their last apply, that
// have findings, a plan that runs, or old files. It has names of fields and no values. A server without --console answers 406.
const OverviewType = "application/json;as=Overview;g=console.holdfast.dev;v=v1"

const (
	// maxLooked is how many objects the server looks at for one answer, and maxDefinitions how many definitions, which are large.
	maxLooked, maxDefinitions = 500, 50
	// maxTogether is how many of them it has in memory at the same time: an object can have 1.5 MiB. It reads no further after maxRead bytes.
	maxTogether, maxRead = 50, 8 << 20
	// maxDrift is how many fields of an object an Overview names.
	maxDrift = 5
)

// Overview says which objects of a part of a list there is something to say about.
type Overview struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Looked is the number of objects that the server has looked at. Continue is where to go on, empty at the end of the list.
	Looked   int      `json:"looked"`
	Continue string   `json:"continue,omitempty"`
	Items    []Remark `json:"items"`
}

// Remark is what there is to say about an object.
type Remark struct {
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// Immutable is the field immutable of a ConfigMap or Secret.
	Immutable bool `json:"immutable,omitempty"`
	// Kept is the value of the annotation that keeps the object from being deleted.
	Kept string `json:"kept,omitempty"`
	// Drift are fields that the next kubectl apply changes back, and More the number of further ones.
	Drift []string `json:"drift,omitempty"`
	More  int      `json:"more,omitempty"`
	// Marked is the number of marked fields of a definition, in its stored version. Rules are those of a definition's annotation or of a policy.
	Marked int      `json:"marked,omitempty"`
	Rules  []string `json:"rules,omitempty"`
	// Resources are those of a policy. Warns means that it only warns.
	Resources []string `json:"resources,omitempty"`
	Warns     bool     `json:"warns,omitempty"`
	// Findings are what is wrong with a definition.
	Findings []string `json:"findings,omitempty"`
	// Plan is the plan of an Instance that runs or has failed, and State how far it is.
	Plan    string    `json:"plan,omitempty"`
	State   api.State `json:"state,omitempty"`
	Message string    `json:"message,omitempty"`
	// Files say which files of a pod are old, and Node where they are.
	Files []string `json:"files,omitempty"`
	Node  string   `json:"node,omitempty"`
}

// isEmpty reports whether there is nothing to say.
func (r *Remark) isEmpty() bool {
	return !r.Immutable && r.Kept == "" && len(r.Drift) == 0 && r.Marked == 0 && len(r.Rules) == 0 && len(r.Resources) == 0 &&
		len(r.Findings) == 0 && r.Plan == "" && len(r.Files) == 0
}

// wantsList reports whether a request is a list with an answer of the console.
func wantsList(req *http.Request, info *request.RequestInfo, as string) bool {
	return info.Verb == "list" && info.Subresource == "" && req.Method == http.MethodGet && wants(req, as)
}

// readList serves a list with another media type, without the query parameters drop, and with a bounded number of objects.
func readList(next http.Handler, req *http.Request, accept string, limit int, drop ...string) *capture.Response {
	bounded := req.Clone(req.Context())
	query := bounded.URL.Query()
	if asked, err := strconv.Atoi(query.Get("limit")); err != nil || asked <= 0 || asked > limit {
		query.Set("limit", strconv.Itoa(limit))
	}
	// The library indents what it sends to a browser. No user reads this text.
	query.Set("pretty", "false")
	bounded.URL.RawQuery = query.Encode()
	return capture.Get(next, bounded, accept, drop...)
}

// answerOverview answers what there is to say about the objects of a list.
func (r *Reports) answerOverview(next http.Handler, w http.ResponseWriter, req *http.Request) {
	info, _ := request.RequestInfoFrom(req.Context())
	limit := maxLooked
	if info.APIGroup == definition.GroupName {
		limit = maxDefinitions
	}
	if asked, err := strconv.Atoi(req.URL.Query().Get("limit")); err == nil && asked > 0 {
		limit = min(limit, asked)
	}
	of := schema.GroupVersionResource{Group: info.APIGroup, Version: info.APIVersion, Resource: info.Resource}
	all := &Overview{APIVersion: "console.holdfast.dev/v1", Kind: "Overview", Items: []Remark{}}
	for bytesRead, part := 0, req.Clone(req.Context()); ; {
		query := part.URL.Query()
		query.Set("limit", strconv.Itoa(min(maxTogether, limit-all.Looked)))
		if all.Continue != "" {
			query.Set("continue", all.Continue)
			query.Del("resourceVersion") // a list that goes on has the version in the token
			query.Del("resourceVersionMatch")
		}
		part.URL.RawQuery = query.Encode()
		read := readList(next, part, "application/json", maxTogether)
		if read.Code != http.StatusOK {
			read.Replay(w)
			return
		}
		found, err := r.sources.overview(req.Context(), of, read.Body)
		if err != nil {
			writeStatus(w, apierrors.NewInternalError(fmt.Errorf("overview of %s: %w", of.GroupResource(), err)))
			return
		}
		bytesRead += len(read.Body)
		all.Looked, all.Continue, all.Items = all.Looked+found.Looked, found.Continue, append(all.Items, found.Items...)
		if all.Continue == "" || all.Looked >= limit || bytesRead >= maxRead {
			break
		}
	}
	writeJSON(w, http.StatusOK, all)
}

// overview returns what there is to say about the objects of an encoded list.
func (s Sources) overview(ctx context.Context, of schema.GroupVersionResource, body []byte) (*Overview, error) {
	var list struct {
		APIVersion string                    `json:"apiVersion"`
		Kind       string                    `json:"kind"`
		Metadata   struct{ Continue string } `json:"metadata"`
		Items      []json.RawMessage         `json:"items"`
	}
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, err
	}
	out := &Overview{Looked: len(list.Items), Continue: list.Metadata.Continue}
	for _, text := range list.Items {
		if !mayHaveRemark(of.GroupResource(), text) {
			continue
		}
		obj := unstructured.Unstructured{}
		if err := utiljson.Unmarshal(text, &obj.Object); err != nil {
			return nil, err
		}
		// The objects of a list have no types of their own.
		obj.SetAPIVersion(list.APIVersion)
		obj.SetKind(strings.TrimSuffix(list.Kind, "List"))
		remark, err := s.remark(ctx, subject{of, obj, s.Rights}, text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", obj.GetName(), err)
		}
		if !remark.isEmpty() {
			out.Items = append(out.Items, remark)
		}
	}
	return out, nil
}

var (
	definitions   = schema.GroupResource{Group: definition.GroupName, Resource: "customresourcedefinitions"}
	policyObjects = policy.Policies().GroupResource()
	instances     = schema.GroupResource{Group: api.GroupVersion.Group, Resource: "instances"}
	pods          = schema.GroupResource{Resource: "pods"}
	configMaps    = schema.GroupResource{Resource: "configmaps"}
	secrets       = schema.GroupResource{Resource: "secrets"}
)

// mayHaveRemark reports whether it is worth to decode an object. The text of most objects has nothing of what a Remark is about.
func mayHaveRemark(of schema.GroupResource, text []byte) bool {
	switch of {
	case definitions, policyObjects, instances, pods:
		return true
	case configMaps, secrets:
		if bytes.Contains(text, []byte(`"immutable"`)) {
			return true
		}
	}
	return bytes.Contains(text, []byte(corev1.LastAppliedConfigAnnotation)) || bytes.Contains(text, []byte(keep.Annotation))
}

// remark returns what there is to say about an object, of which text is the JSON.
func (s Sources) remark(ctx context.Context, about subject, text []byte) (Remark, error) {
	r := Remark{Namespace: about.obj.GetNamespace(), Name: about.obj.GetName(), Kept: keep.InForce(about.of.GroupResource(), &about.obj)}
	if about.obj.GetAnnotations()[corev1.LastAppliedConfigAnnotation] != "" {
		kind, err := s.typeOf(about)
		if err != nil {
			return r, err
		}
		if kind != nil {
			r.addDrift(ownership.Subject{Type: kind, Object: about.obj.Object, Managers: about.obj.GetManagedFields()}.Drift())
		}
	}
	switch about.of.GroupResource() {
	case configMaps, secrets:
		r.Immutable, _, _ = unstructured.NestedBool(about.obj.Object, "immutable")
	case definitions:
		return r, r.addDefinition(text)
	case policyObjects:
		return r, r.addPolicy(&about.obj)
	case instances:
		return r, r.addPlan(text)
	case pods:
		return r, s.addFiles(ctx, &r, text)
	}
	return r, nil
}

// typeOf returns what the server knows about the fields of an object's kind, nil if it is not served.
func (s Sources) typeOf(about subject) (*ownership.Type, error) {
	gvk := about.obj.GroupVersionKind()
	if gvk.Group == definition.GroupName {
		return s.Ownership.DefinitionType(), nil
	}
	if known := s.Ownership.Type(gvk.GroupKind()); known != nil {
		return known, nil
	}
	explained, err := s.Custom.Explain(about.of, about.obj.Object)
	if err != nil || explained == nil {
		return nil, err
	}
	return explained.Type, nil
}

func (r *Remark) addDrift(found []ownership.Finding) {
	for i := range found {
		if len(r.Drift) == maxDrift {
			r.More = len(found) - maxDrift
			return
		}
		r.Drift = append(r.Drift, found[i].Path.String())
	}
}

// markers are what the text of a definition has that marks fields.
var markers = [][]byte{
	[]byte("x-kubernetes-immutable"), []byte("x-kubernetes-addition-only"), []byte("x-kubernetes-deletion-only"),
	[]byte("x-kubernetes-update"), []byte(immutability.Annotation),
}

// addDefinition adds the markers, the rules and the findings of a definition.
func (r *Remark) addDefinition(text []byte) error {
	crd := &definition.CustomResourceDefinition{}
	if err := json.Unmarshal(text, crd); err != nil {
		return fmt.Errorf("decode the definition: %w", err)
	}
	for _, each := range []struct {
		condition apiextensionsv1.CustomResourceDefinitionConditionType
		bad       apiextensionsv1.ConditionStatus
		says      string
	}{
		{apiextensionsv1.NamesAccepted, apiextensionsv1.ConditionFalse, "its names are not accepted"},
		{apiextensionsv1.NonStructuralSchema, apiextensionsv1.ConditionTrue, "its schema is not structural"},
		{apiextensionsv1.Terminating, apiextensionsv1.ConditionTrue, "it is being deleted"},
		{definition.StoredObjectsValid, apiextensionsv1.ConditionFalse, "the server would refuse stored objects if they were written again"},
	} {
		if c := definition.FindCondition(crd, each.condition); c != nil && c.Status == each.bad {
			r.Findings = append(r.Findings, cut(each.says+": "+c.Message))
		}
	}
	marked := false
	for _, keyword := range markers {
		marked = marked || bytes.Contains(text, keyword)
	}
	if !marked {
		return nil
	}
	for _, v := range versionsOf(crd) {
		if v.Note != "" {
			r.Findings = append(r.Findings, cut("version "+v.Name+": "+v.Note))
		}
		if n := len(v.Escapes); n == 1 {
			r.Findings = append(r.Findings, "version "+v.Name+": a marked field can be changed in two allowed writes")
		} else if n > 1 {
			r.Findings = append(r.Findings, fmt.Sprintf("version %s: marked fields can be changed in two allowed writes, in %d ways", v.Name, n))
		}
		if !v.Storage {
			continue
		}
		r.Rules = v.Rules
		for _, node := range v.Skeleton {
			if node.Marker != "" {
				r.Marked++
			}
		}
	}
	return nil
}

// addPolicy adds the rules of an ImmutabilityPolicy.
func (r *Remark) addPolicy(obj *unstructured.Unstructured) error {
	p, err := policy.Decode(obj)
	if err != nil {
		return err
	}
	r.Resources, r.Rules, r.Warns = p.Spec.Resources, p.Spec.Rules, p.Spec.Mode == policy.Warn
	for _, rule := range p.Spec.StructuredRules {
		line := strings.TrimSpace(rule.Constraint + " " + rule.Path)
		if rule.Unless != "" {
			line += " unless " + rule.Unless
		}
		if rule.While != "" {
			line += " while " + rule.While
		}
		r.Rules = append(r.Rules, line)
	}
	return nil
}

// addPlan adds the plan of an Instance that runs, or that ran last and failed.
func (r *Remark) addPlan(text []byte) error {
	instance := &api.Instance{}
	if err := json.Unmarshal(text, instance); err != nil {
		return fmt.Errorf("decode the instance: %w", err)
	}
	running := instance.RunningPlan()
	recent := plan.Recent(instance)
	switch {
	case running != "":
		status := instance.Status.PlanStatus[running]
		r.Plan, r.State, r.Message = running, status.Status, cut(messageOf(&status))
	case len(recent) > 0 && recent[0].Status == api.FatalError:
		r.Plan, r.State, r.Message = recent[0].Name, recent[0].Status, cut(messageOf(&recent[0]))
	}
	return nil
}

// messageOf returns the message of a plan, or that of the first step that has one and has not ended.
func messageOf(status *api.PlanStatus) string {
	if status.Message != "" {
		return status.Message
	}
	for i := range status.Phases {
		for _, step := range status.Phases[i].Steps {
			if step.Message != "" && step.Status != api.Complete {
				return status.Phases[i].Name + "/" + step.Name + ": " + step.Message
			}
		}
	}
	return ""
}

// cut returns the beginning of a text that may be long.
func cut(text string) string {
	if runes := []rune(text); len(runes) > maxShown {
		return string(runes[:maxShown]) + "…"
	}
	return text
}
