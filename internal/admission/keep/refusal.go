package keep

import (
	"fmt"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// CauseTypeObjectKept is the type of each cause in the answer to the deletion of a kept object.
const CauseTypeObjectKept metav1.CauseType = "ObjectKept"

// maxListed is the number of kept objects that an answer names.
const maxListed = 5

// IsRefusal reports whether an error is the answer to the deletion of a kept object. Such an error is also a Conflict. A client that
// tries again gets the same answer.
func IsRefusal(err error) bool { return apierrors.HasStatusCause(err, CauseTypeObjectKept) }

// target names an object.
type target struct {
	resource        schema.GroupResource
	namespace, name string
}

// String returns the form that kubectl takes, such as configmaps/settings.
func (t target) String() string { return t.resource.String() + "/" + t.name }

// unkeep returns the command that removes the annotation.
func (t target) unkeep() string {
	command := fmt.Sprintf("kubectl annotate %s %s", t.resource, t.name)
	if t.namespace != "" {
		command += " -n " + t.namespace
	}
	return command + " " + Annotation + "-"
}

// reason says why an object is kept.
type reason struct {
	// field is the field that keeps it, "" if a rule keeps it.
	field string
	// text is a clause, and advice says what a user can do.
	text, advice string
}

func byAnnotation(t target, value string) *reason {
	return &reason{
		field: path.String(), text: fmt.Sprintf("the annotation %s: %s keeps it", Annotation, value),
		advice: "a user that may unlock it can remove the annotation first: " + t.unkeep(),
	}
}

func byRule(rule *Rule) *reason {
	why := &reason{text: rule.String() + " keeps it", advice: "remove the rule first"}
	if rule.Unclear != nil {
		why.text += fmt.Sprintf("; the condition could not be evaluated: %v", rule.Unclear)
	}
	switch {
	case rule.Unless != "" && rule.While != "":
		why.advice = fmt.Sprintf("it can be deleted when the condition is not true any more, or by a user that may %s it", rule.Unless)
	case rule.Unless != "":
		why.advice = fmt.Sprintf("a user that may %s it can delete it", rule.Unless)
	case rule.While != "":
		why.advice = "it can be deleted when the condition is not true any more"
	case rule.File != "":
		why.advice = fmt.Sprintf("remove the rule from the file %s of --rules-dir first", rule.File)
	}
	return why
}

// refuse returns the answer to the deletion of one kept object.
func refuse(t target, why *reason) error {
	message := fmt.Sprintf("%s %q cannot be deleted: %s; %s", t.resource, t.name, why.text, why.advice)
	return conflict(t, message, []metav1.StatusCause{{Type: CauseTypeObjectKept, Field: why.field, Message: why.text + "; " + why.advice}})
}

func conflict(t target, message string, causes []metav1.StatusCause) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusConflict, Reason: metav1.StatusReasonConflict, Message: message,
		Details: &metav1.StatusDetails{Group: t.resource.Group, Kind: t.resource.Resource, Name: t.name, Causes: causes},
	}}
}

// kept collects kept objects. The zero value has none.
type kept struct {
	count  int
	listed []string
	causes []metav1.StatusCause
}

func (k *kept) add(name string, causes ...metav1.StatusCause) {
	k.count++
	if len(k.listed) < maxListed {
		k.listed = append(k.listed, name)
		k.causes = append(k.causes, causes...)
	}
}

// merge adds the objects of other.
func (k *kept) merge(other kept) {
	k.count += other.count
	room := min(maxListed-len(k.listed), len(other.listed))
	k.listed, k.causes = append(k.listed, other.listed[:room]...), append(k.causes, other.causes[:room]...)
}

// names returns the first names, and how many there are besides.
func (k *kept) names() string {
	text := strings.Join(k.listed, ", ")
	if more := k.count - len(k.listed); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// objects returns the number with its noun.
func (k *kept) objects() string {
	if k.count == 1 {
		return "1 object"
	}
	return fmt.Sprintf("%d objects", k.count)
}
