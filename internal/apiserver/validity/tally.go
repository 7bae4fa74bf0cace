package validity

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/internal/definition/verdict"
	"holdfast.dev/holdfast/internal/finding"
)

const (
	// maxCauses is how many causes a message names.
	maxCauses = 5
	// maxCause bounds the text of one cause. The message of a CEL rule may have 2,048 characters.
	maxCause = 200
)

// tally counts objects.
type tally struct {
	objects, invalid int
	// causes has the number of objects for each cause.
	causes map[verdict.Cause]int
}

// set sets the condition of a definition, or removes it if there is no object.
func (t *tally) set(crd *definition.CustomResourceDefinition) {
	if t.objects == 0 {
		definition.RemoveCondition(crd, definition.StoredObjectsValid)
		return
	}
	// The message does not have the number of objects, which changes later.
	condition := apiextensionsv1.CustomResourceDefinitionCondition{
		Type: definition.StoredObjectsValid, Status: apiextensionsv1.ConditionTrue, Reason: "AllValid",
		Message: "the server would accept all stored objects if they were written again",
	}
	if t.invalid > 0 {
		condition = apiextensionsv1.CustomResourceDefinitionCondition{
			Type: definition.StoredObjectsValid, Status: apiextensionsv1.ConditionFalse, Reason: "Invalid", Message: t.message(),
		}
	}
	definition.SetCondition(crd, condition, metav1.Now())
}

// message returns the numbers and the most frequent causes. invalidIn reads the first number.
func (t *tally) message() string {
	causes := slices.SortedFunc(maps.Keys(t.causes), func(a, b verdict.Cause) int {
		return cmp.Or(cmp.Compare(t.causes[b], t.causes[a]), cmp.Compare(a.Path, b.Path), cmp.Compare(a.Reason, b.Reason))
	})
	var texts []string
	for _, cause := range causes[:min(len(causes), maxCauses)] {
		texts = append(texts, fmt.Sprintf("%s (%d)", shortened(cause.String()), t.causes[cause]))
	}
	if more := len(causes) - maxCauses; more > 0 {
		texts = append(texts, finding.Quantity(more, "other cause"))
	}
	return fmt.Sprintf("%d of %s would be refused if written again: %s",
		t.invalid, finding.Quantity(t.objects, "stored object"), strings.Join(texts, "; "))
}

// shortened returns at most maxCause characters of a text.
func shortened(text string) string {
	if characters := []rune(text); len(characters) > maxCause {
		return string(characters[:maxCause]) + "..."
	}
	return text
}

// invalidIn returns the number of invalid objects in the message of a condition.
func invalidIn(message string) (int, bool) {
	var invalid int
	_, err := fmt.Sscanf(message, "%d of ", &invalid)
	return invalid, err == nil
}
