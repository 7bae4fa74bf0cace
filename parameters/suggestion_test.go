package parameters_test

import (
	"testing"

	"holdfast.dev/holdfast/parameters"
)

// TestSuggestionInRefusals checks that refusals name the parameter or the plan that is meant.
func TestSuggestionInRefusals(t *testing.T) {
	version := &parameters.Version{
		Name: "tok-0.1.0", Plans: []string{"deploy", "backup"}, Definitions: []parameters.Definition{{Name: "NODE_COUNT"}},
	}
	for want, decision := range map[string]parameters.Decision{
		"parameter 'nodecount' is unknown: operator version tok-0.1.0 has no such parameter: did you mean NODE_COUNT?": parameters.Install(
			version, parameters.Request{Wanted: map[string]string{"nodecount": "3"}}),
		"operator version tok-0.1.0 has no plan 'bakcup': did you mean backup?": parameters.Update(version, parameters.Request{Plan: "bakcup"}),
	} {
		if err := decision.Err(); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func TestSuggestion(t *testing.T) {
	known := []string{"NODE_COUNT", "CPUS", "ZOOKEEPER_URI", "X"}
	for name, want := range map[string]string{
		"nodecount":    ": did you mean NODE_COUNT?",
		"NODE_COUTN":   ": did you mean NODE_COUNT?",
		"CPU":          ": did you mean CPUS?",
		"zookeper.url": ": did you mean ZOOKEEPER_URI?",
		"MEMORY":       "",
		"Y":            "",
		"x":            ": did you mean X?",
		"":             "",
	} {
		if got := parameters.Suggestion(name, known); got != want {
			t.Errorf("%s%s, want %s", name, got, want)
		}
	}
}
