package verdict

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"holdfast.dev/holdfast/schema"
)

// Cause is a reason for which objects are refused, without data of them. Objects that are refused for the same reason have equal causes.
type Cause struct {
	// Path is the field. Indices of lists and names that the schema does not have, such as keys of maps, are *. It is empty for the
	// object as a whole.
	Path   string
	Reason string
}

// String returns the path and the reason.
func (c Cause) String() string {
	if c.Path == "" {
		return c.Reason
	}
	return c.Path + ": " + c.Reason
}

// texts are the texts of a schema that may be in a cause.
type texts struct {
	root *schema.Schema
	// rules has the messages of CEL rules that do not depend on objects.
	rules map[string]bool
}

// Cause returns the cause of a refusal.
func (j *Judge) Cause(r Refusal) Cause {
	if r.version == "" {
		return Cause{Reason: r.Message}
	}
	t := j.textsOf(r.version)
	reason := r.Message
	if r.kind != "" {
		reason = t.reason(r)
	}
	return Cause{Path: known(t.root, r.Path), Reason: reason}
}

func (j *Judge) textsOf(version string) *texts {
	j.mu.Lock()
	defer j.mu.Unlock()
	if t := j.texts[version]; t != nil {
		return t
	}
	t := &texts{rules: map[string]bool{}}
	j.texts[version] = t
	var err error
	if t.root, _, err = j.versions[version].Version.DecodeSchema(); err != nil || t.root == nil {
		return t // without a schema, every name is data of the object
	}
	schema.Walk(t.root, func(v *schema.Visit) bool {
		for _, rule := range v.Schema.Validations {
			t.rules[strings.TrimSpace(rule.Message)], t.rules["failed rule: "+strings.TrimSpace(rule.Rule)] = true, true
		}
		return true
	})
	delete(t.rules, "")
	return t
}

// reasons are the texts for the types of errors that need no further text.
var reasons = map[field.ErrorType]string{
	field.ErrorTypeRequired:     "is required",
	field.ErrorTypeNotSupported: "is not one of the allowed values",
	field.ErrorTypeTooLong:      "is too long",
	field.ErrorTypeTooMany:      "has too many items",
	field.ErrorTypeDuplicate:    "is a duplicate",
	field.ErrorTypeTypeInvalid:  "has the wrong type or format",
}

// phrases are the parts of messages of the validator that say what is wrong, and our texts for them. The rest of a message may have data
// of the object.
var phrases = []struct{ part, reason string }{
	{" should match ", "does not match the pattern"},
	{" should be greater than", "is too small"},
	{" should be less than", "is too large"},
	{" should be at least ", "is too short"},
	{" should have at least ", "has too few items"},
	{" should be a multiple of ", "is not a multiple of the allowed number"},
	{" shouldn't contain duplicates", "has duplicates"},
	{"(anyOf)", "does not validate against anyOf"},
	{"(oneOf)", "does not validate against oneOf"},
	{"(allOf)", "does not validate against allOf"},
	{"(not)", "validates against not"},
}

// invalid is the reason if nothing more is known that has no data of the object.
const invalid = "is invalid"

// reason returns the reason of an error of Kubernetes.
func (t *texts) reason(r Refusal) string {
	if t.rules[r.detail] {
		return r.detail
	}
	if text := reasons[r.kind]; text != "" {
		return text
	}
	if r.kind != field.ErrorTypeInvalid {
		return invalid
	}
	for _, p := range phrases {
		if strings.Contains(r.detail, p.part) {
			return p.reason
		}
	}
	return invalid
}
