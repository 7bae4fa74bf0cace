package fieldownership_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast.dev/holdfast/apiserver/fieldownership"
	"holdfast.dev/holdfast/apiserver/servertest"
	"holdfast.dev/holdfast/ownership"
)

// If the judgement panics, the write is not refused, and the warning says so.
func TestBrokenJudgement(t *testing.T) {
	servertest.Quiet()
	broken := &ownership.Type{
		Applied: ownership.Untyped(), Managed: ownership.Untyped(),
		Canonical: func([]byte) (map[string]any, []string, error) { panic("broken") },
	}
	obj := map[string]any{"metadata": map[string]any{"annotations": map[string]any{ownership.LastApplied: "{}"}}}
	for _, command := range []string{"kubectl patch", "kubectl edit", "kubectl apply"} {
		verdict := fieldownership.Judge(ownership.Write{
			Type: broken, Live: obj, New: map[string]any{}, Writer: ownership.ParseWriter(ownership.Request{Command: command}),
		}, ownership.NewCache(1<<10))
		if diff := cmp.Diff([]string{"ownership not checked: " + fieldownership.NoteBroken}, verdict.Warnings()); diff != "" {
			t.Errorf("%s is told (-want +got):\n%s", command, diff)
		}
		if refusals := verdict.Refusals(); refusals != nil {
			t.Errorf("%s is refused: %v", command, refusals)
		}
	}
}
