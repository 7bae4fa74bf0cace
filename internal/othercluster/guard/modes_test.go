package guard_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/internal/waittest"
)

// TestModes checks that a rule has the mode of its policy or its own, and that Events about the policy name the rules.
func TestModes(t *testing.T) {
	t.Parallel()
	f := start(t)
	f.run()
	f.create(definitions, widgetsDefinition)
	f.create(policies, `
apiVersion: guard.holdfast.dev/v1alpha1
kind: ImmutabilityPolicy
metadata: {name: mixed}
spec:
  mode: warn
  resources: [widgets.example.com, configmaps]
  rules: ["enforce v1: immutable spec.size", immutable spec.note, enforce addition-only data, warn immutable immutable]
`)
	f.create(widgets, `{apiVersion: example.com/v1, kind: Widget, metadata: {name: w}, spec: {size: small, note: a, replicas: 1}}`)
	f.create("default/configmaps", `{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: x}, immutable: false}`)
	f.guarded("widgets")
	f.guarded("configmaps")
	f.asks(widgets, "w", `{spec: {size: big}}`)
	f.asks("default/configmaps", "c", `{data: {a: null}}`)
	const prefix = `BadRequest: admission webhook "immutable.guard.holdfast.dev" denied the request: `
	// A dry run has the same answer, and no Event.
	_, err := f.of("default/configmaps").Patch(t.Context(), "c", types.MergePatchType, []byte(`{"data":{"a":null}}`),
		metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
	if got := outcome(err); !strings.HasPrefix(got, prefix+`ConfigMap "c" cannot be changed this way: data.a: field is immutable: addition only`) {
		t.Error(got)
	}
	got := f.patch(widgets, "w", `{spec: {size: big, note: b}}`)
	if want := prefix + `Widget.example.com "w" cannot be changed this way: ` +
		`spec.size: field is immutable: changed from "small" to "big", which policy mixed forbids`; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	warning := `spec.note: field is immutable: changed from "a" to "b", which policy mixed forbids`
	if !slices.Equal(f.warnings.texts, []string{warning}) {
		t.Errorf("warnings %q", f.warnings.texts)
	}
	if got := f.patch(widgets, "w", `{spec: {note: b}}`); got != "ok" || !slices.Equal(f.warnings.texts, []string{warning}) {
		t.Errorf("%s, %q", got, f.warnings.texts)
	}
	if got := f.patch("default/configmaps", "c", `{immutable: true}`); got != "ok" || len(f.warnings.texts) != 1 {
		t.Errorf("%s, %q", got, f.warnings.texts)
	}
	f.wantStatus("mixed", "False", "widgets.example.com: ", "configmaps: ")
	var events []string
	waittest.Until(t, "Events about the policy", func() bool {
		events = f.eventsAbout("mixed")
		return f.hasEvent(events, 2, "Warned: warned about an update of widgets.example.com default/w: immutable spec.note") &&
			f.hasEvent(events, 1, "Warned: warned about an update of configmaps default/c: immutable immutable")
	})
	if !f.hasEvent(events, 1, "Refused: refused an update of widgets.example.com default/w: immutable spec.size") {
		t.Errorf("events %q", events)
	}
	for _, event := range events {
		if strings.Contains(event, "addition only") {
			t.Errorf("an Event about a dry run: %s", event)
		}
	}
}

// hasEvent reports whether an Event was counted as often as wanted. The guard may have counted a write that was sent again each time.
func (f *fixture) hasEvent(events []string, count int, text string) bool {
	most := count + int(f.repeated.Load())
	for n := count; n <= most; n++ {
		if slices.Contains(events, fmt.Sprintf("%d %s", n, text)) {
			return true
		}
	}
	return false
}

// eventsAbout returns the Events about a policy: their count, reason and message.
func (f *fixture) eventsAbout(policy string) []string {
	f.Helper()
	all, err := f.server.Client(f.T).CoreV1().Events("default").List(f.Context(), metav1.ListOptions{})
	if err != nil {
		f.Fatal(err)
	}
	var out []string
	for i := range all.Items {
		if event := &all.Items[i]; event.InvolvedObject.Kind == "ImmutabilityPolicy" && event.InvolvedObject.Name == policy {
			out = append(out, fmt.Sprintf("%d %s: %s", event.Count, event.Reason, event.Message))
		}
	}
	return out
}
