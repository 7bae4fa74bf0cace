package cluster

import "testing"

// The phase of a pod on a simulated node follows from its restart policy and from the exit codes in its commands.
func TestPodStatus(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		policy, script, phase string
		code                  any
	}{
		"always":               {"Always", "exit 1", "Running", nil},
		"never":                {"Never", "date", "Succeeded", 0},
		"on failure":           {"OnFailure", "date", "Succeeded", 0},
		"never, with a code":   {"Never", "date; exit 3", "Failed", 3},
		"never, with branches": {"Never", "if date; then exit 0; else exit 1; fi", "Succeeded", 0},
	} {
		var pod object
		pod.Spec.RestartPolicy = row.policy
		pod.Spec.Containers = []container{{Name: "main", Command: []string{"sh", "-c"}, Args: []string{row.script}}}
		status := (&simulatedNode{}).podStatus(&pod)
		state := status["containerStatuses"].([]any)[0].(map[string]any)["state"].(map[string]any)
		var code any
		if terminated, ended := state["terminated"].(map[string]any); ended {
			code = terminated["exitCode"]
		}
		if status["phase"] != row.phase || code != row.code {
			t.Errorf("%s: phase %v, exit code %v, want %s and %v", name, status["phase"], code, row.phase, row.code)
		}
	}
}
