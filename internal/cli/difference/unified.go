// Package difference shows how two objects differ, as a unified diff of their YAML.
//
//	text, err := difference.Unified("deployment.apps/web", oldObj, newObj)
//
// It never shows a value of a Secret, only whether it differs.
package difference

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pmezard/go-difflib/difflib"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// Unified returns the unified diff of two objects, "" if they are equal. One of them may be nil. It replaces the values of Secrets in both
// objects.
func Unified(name string, oldObj, newObj *unstructured.Unstructured) (string, error) {
	hideSecrets(oldObj, newObj)
	oldText, err := lines(oldObj)
	if err != nil {
		return "", err
	}
	newText, err := lines(newObj)
	if err != nil {
		return "", err
	}
	from, to := name, name
	if oldObj == nil {
		from = "/dev/null"
	}
	if newObj == nil {
		to = "/dev/null"
	}
	return difflib.GetUnifiedDiffString(difflib.UnifiedDiff{A: oldText, B: newText, FromFile: from, ToFile: to, Context: 3})
}

// lines returns an object as lines of YAML. The values of a ConfigMap, which are files most of
// the time, come last and line by line; YAML would write some of them as one quoted line.
func lines(object *unstructured.Unstructured) ([]string, error) {
	if object == nil {
		return nil, nil
	}
	content := maps.Clone(object.Object)
	data, isObject := content["data"].(map[string]any)
	files := isObject && object.GroupVersionKind() == corev1.SchemeGroupVersion.WithKind("ConfigMap")
	if files {
		delete(content, "data")
	}
	text, err := yaml.Marshal(content)
	if err != nil || !files {
		return slices.Collect(strings.Lines(string(text))), err
	}
	more, err := fileLines(data)
	return append(slices.Collect(strings.Lines(string(text))), more...), err
}

// fileLines returns the data of a ConfigMap as lines.
func fileLines(data map[string]any) ([]string, error) {
	all := []string{"data:\n"}
	for _, name := range slices.Sorted(maps.Keys(data)) {
		value, isText := data[name].(string)
		if !isText || !strings.Contains(value, "\n") {
			text, err := yaml.Marshal(map[string]any{name: data[name]})
			if err != nil {
				return nil, err
			}
			for line := range strings.Lines(string(text)) {
				all = append(all, "  "+line)
			}
			continue
		}
		indicator := "|"
		if !strings.HasSuffix(value, "\n") {
			indicator = "|-"
		}
		all = append(all, "  "+name+": "+indicator+"\n")
		for line := range strings.Lines(value) {
			all = append(all, "    "+strings.TrimSuffix(line, "\n")+"\n")
		}
	}
	return all, nil
}

// hideSecrets replaces the values of Secrets, so that the diff shows whether they differ but
// not what they are.
func hideSecrets(oldObj, newObj *unstructured.Unstructured) {
	for _, section := range []string{"data", "stringData"} {
		before, after := secret(oldObj, section), secret(newObj, section)
		for key, value := range after {
			other, exists := before[key]
			after[key] = "(hidden)"
			if exists && fmt.Sprint(other) != fmt.Sprint(value) {
				after[key] = "(hidden, another value)"
			}
		}
		for key := range before {
			before[key] = "(hidden)"
		}
	}
}

// secret returns a section of a Secret, nil if the object is not a Secret.
func secret(object *unstructured.Unstructured, section string) map[string]any {
	if object == nil || object.GetKind() != "Secret" || object.GroupVersionKind().Group != "" {
		return nil
	}
	values, _ := object.Object[section].(map[string]any)
	return values
}
