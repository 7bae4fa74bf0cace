package immutability_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/immutability"
	"holdfast.dev/holdfast/schema"
)

// decode decodes YAML as the server decodes a request: integers are int64.
func decode(t testing.TB, text string) map[string]any {
	t.Helper()
	bytes, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	var object map[string]any
	if err := json.Unmarshal(bytes, &object); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return object
}

func decodeSchema(t testing.TB, text string) *schema.Schema {
	t.Helper()
	s, unknown, err := schema.Decode(decode(t, text))
	if err != nil || len(unknown) > 0 {
		t.Fatalf("error %v, unknown %v in\n%s", err, unknown, text)
	}
	return s
}

func compile(t testing.TB, text string) *immutability.Policy {
	t.Helper()
	policy, err := immutability.Compile(decodeSchema(t, text))
	if err != nil {
		t.Fatal(err)
	}
	return policy
}

// lines returns the texts of the violations.
func lines(violations []immutability.Violation) []string {
	var all []string
	for _, v := range violations {
		all = append(all, v.String())
	}
	return all
}
