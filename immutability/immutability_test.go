package immutability_test

import (
	"testing"

	"holdfast.dev/holdfast/immutability"
	"holdfast.dev/holdfast/internal/yamltest"
	"holdfast.dev/holdfast/schema"
)

func schemaOf(t testing.TB, text string) *schema.Schema {
	t.Helper()
	s, unknown, err := schema.Decode(yamltest.Map(t, text))
	if err != nil || len(unknown) > 0 {
		t.Fatalf("error %v, unknown %v in\n%s", err, unknown, text)
	}
	return s
}

func compile(t testing.TB, text string) *immutability.Policy {
	t.Helper()
	policy, err := immutability.Compile(schemaOf(t, text))
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
