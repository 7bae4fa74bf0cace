package judgement_test

import (
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/klog/v2"

	"holdfast.dev/holdfast/internal/native/judgement"
	"holdfast.dev/holdfast/ownership"
)

// If the judgement panics, the write is not refused, and the warning says so.
func TestBrokenJudgement(t *testing.T) {
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	broken := &ownership.Type{
		Applied: ownership.Untyped(), Managed: ownership.Untyped(),
		Canonical: func([]byte) (map[string]any, []string, error) { panic("broken") },
	}
	obj := map[string]any{"kind": "ConfigMap", "metadata": map[string]any{"name": "config", "annotations": map[string]any{ownership.LastApplied: "{}"}}}
	for _, command := range []string{"kubectl patch", "kubectl edit", "kubectl apply"} {
		verdict := judgement.Judge(ownership.Write{
			Type: broken, Live: obj, New: map[string]any{}, Writer: ownership.ParseWriter(ownership.Request{Command: command}),
		}, ownership.NewCache(1<<10))
		if diff := cmp.Diff([]string{"ownership not checked: " + judgement.NoteBroken + " (ConfigMap/config)"}, verdict.Warnings()); diff != "" {
			t.Errorf("%s is told (-want +got):\n%s", command, diff)
		}
		if refusals := verdict.Refusals(); refusals != nil {
			t.Errorf("%s is refused: %v", command, refusals)
		}
	}
}
