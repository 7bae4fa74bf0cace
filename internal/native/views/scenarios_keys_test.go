package views_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"holdfast.dev/holdfast/internal/native/views"
	"holdfast.dev/holdfast/internal/yamltest"
	"holdfast.dev/holdfast/ownership"
)

// TestRetainKeysScenarios has fields inside of values with the patch strategy retainKeys: apply
// clears those that the file does not have.
func TestRetainKeysScenarios(t *testing.T) {
	const rolling = `{"maxSurge":"25%","maxUnavailable":"25%"}`
	const volume = `.spec.template.spec.volumes[name="v"]`
	file := web("  strategy: {type: RollingUpdate}", "")
	surge := patchWith("kubectl patch", "kubectl-patch", `{"spec":{"strategy":{"rollingUpdate":{"maxSurge":3}}}}`)
	// changed returns the warning about a field. The field cannot be transferred alone, so the
	// warning advises to transfer unit, the value around it.
	changed := func(field, unit, x, y string) string {
		return strings.Replace(changedByCommand("kubectl patch", field, x, y, "<none>"), "--field '"+field+"'", "--field '"+unit+"'", 1)
	}
	runScenarios(t, map[string]scenario{
		"a strategy": {steps: []step{
			{write: apply(file)},
			{write: apply(file)},
			{
				write:    surge,
				warnings: []string{changed(".spec.strategy.rollingUpdate", ".spec.strategy", rolling, `{"maxSurge":3,"maxUnavailable":"25%"}`)},
			},
			{
				write: apply(file),
				warnings: []string{driftedField(".spec.strategy.rollingUpdate", `{"maxSurge":3,"maxUnavailable":"25%"}`, rolling, "<none>",
					"  Last set by kubectl patch at TIME.")},
				stored: `{spec: {strategy: {rollingUpdate: {maxSurge: 25%}}}}`,
			},
			{write: apply(file)},
		}},
		"a repair": {steps: []step{
			{write: apply(file)},
			{
				write:    surge,
				warnings: []string{changed(".spec.strategy.rollingUpdate", ".spec.strategy", rolling, `{"maxSurge":3,"maxUnavailable":"25%"}`)},
			},
			{write: edit(`{"spec":{"strategy":{"rollingUpdate":{"maxSurge":"25%"}}}}`)},
		}},
		"a strategy that is not in the file": {steps: []step{
			{write: apply(web("", ""))},
			{write: surge},
			{
				write: apply(web("  strategy: {type: Recreate}", "")),
				warnings: []string{
					foreignField(".spec.strategy.rollingUpdate", `{"maxSurge":3,"maxUnavailable":"25%"}`, "<none>",
						"  Last set by kubectl patch at TIME."),
				},
			},
		}},
		"defaults of the old type": {steps: []step{
			{write: apply(file)},
			{write: apply(web("  strategy: {type: Recreate}", ""))},
			{write: apply(file)},
		}},
		"a volume": {steps: []step{
			{write: apply(web("", "      volumes: [{name: v}]"))},
			{
				write: patchWith("kubectl patch", "kubectl-patch",
					`{"spec":{"template":{"spec":{"volumes":[{"name":"v","emptyDir":null,"configMap":{"name":"c"}}]}}}}`),
				warnings: []string{changed(volume+".configMap", volume, "<none>", `{"defaultMode":420,"name":"c"}`)},
			},
		}},
	})
}

// A field may override the type of its model: the claimRef of a PersistentVolume is no atomic
// value for server-side apply.
func TestGranularScenarios(t *testing.T) {
	const file = "{apiVersion: v1, kind: PersistentVolume, metadata: {name: v}, spec: {claimRef: {name: c}}}"
	runScenarios(t, map[string]scenario{
		"claimRef": {kind: corev1.SchemeGroupVersion.WithKind("PersistentVolume"), steps: []step{
			{write: applyServerSide("ci", false, file)},
			{write: patchWith("kubectl patch", "kubectl-patch", `{"spec":{"claimRef":{"uid":"7"}}}`)},
			{write: applyServerSide("ci", true, file), stored: `{spec: {claimRef: {name: c, uid: "7"}}}`},
		}},
	})
}

// A zero value in the file for a field that the server allocates owns nothing: the server
// keeps the allocated value.
func TestAllocatedScenarios(t *testing.T) {
	const file = "{apiVersion: v1, kind: Service, metadata: {name: s}, " +
		"spec: {type: NodePort, clusterIP: '', ports: [{port: 80, nodePort: 0}]}}"
	runScenarios(t, map[string]scenario{
		"a node port": {kind: corev1.SchemeGroupVersion.WithKind("Service"), steps: []step{
			{write: apply(file)},
			{write: patchWith("kubectl patch", "kubectl-patch", `{"spec":{"clusterIP":"10.96.0.9","ports":[{"port":80,"nodePort":30080}]}}`)},
			{write: edit(`{"spec":{"ports":[{"port":80,"nodePort":30081}]}}`)},
		}},
	})
}

// Package ownership judges large maps of texts in another way than small ones.
func TestLargeMaps(t *testing.T) {
	types := views.New()
	for name, test := range map[string]struct{ kind, field string }{
		"data":       {"ConfigMap", "data"},
		"stringData": {"Secret", "stringData"},
		"labels":     {"ConfigMap", "metadata.labels"},
	} {
		t.Run(name, func(t *testing.T) {
			config := largeMap(test.kind, test.field)
			text := string(encode(t, config)) + "\n"
			typ := types.Of(corev1.SchemeGroupVersion.WithKind(test.kind).GroupKind())
			live, _, err := typ.Canonical([]byte(text))
			if err != nil {
				t.Fatal(err)
			}
			live = ownership.WithLastApplied(live, text)
			updated, _, err := typ.Canonical(encode(t, live))
			if err != nil {
				t.Fatal(err)
			}
			texts, path := updated, ".data"
			if test.field == "metadata.labels" {
				texts, path = updated["metadata"].(map[string]any), ".metadata.labels"
			}
			texts = texts[path[strings.LastIndexByte(path, '.')+1:]].(map[string]any)
			texts["k7"] = "dw=="
			delete(texts, "k8")
			texts["free"] = "eA=="
			for command, want := range map[string]int{"kubectl patch": 2, "kubectl apply": 0} {
				verdict := ownership.Judge(ownership.Write{
					Type: typ, Live: live, New: updated, Writer: ownership.ParseWriter(ownership.Request{Command: command, User: "jane"}),
				}, nil)
				if len(verdict.Findings) != want || verdict.Note != "" {
					t.Errorf("%s: %q", command, verdict.Warnings())
				}
				for i, key := range []string{".k7", ".k8"}[:want] {
					if got := verdict.Findings[i].Path.String(); got != path+key {
						t.Errorf("%s: finding about %s", command, got)
					}
				}
			}
			reverted := ownership.Judge(ownership.Write{
				Type: typ, Live: updated, New: live, Writer: ownership.ParseWriter(ownership.Request{Command: "kubectl apply", User: "jane"}),
			}, nil)
			if len(reverted.Findings) != 2 {
				t.Errorf("apply of the file again: %q", reverted.Warnings())
			}
		})
	}
}

// largeMap returns a configuration with a map of 100 texts in a field.
func largeMap(kind, field string) map[string]any {
	texts := map[string]any{}
	for i := range 100 {
		texts[fmt.Sprintf("k%d", i)] = "v"
	}
	config := map[string]any{"apiVersion": "v1", "kind": kind, "metadata": map[string]any{"name": "large"}}
	if field == "metadata.labels" {
		config["metadata"] = map[string]any{"name": "large", "labels": texts}
	} else {
		config[field] = texts
	}
	return config
}

// TestManyDefaults checks that the cost of a judgement does not grow with the number of findings
// times the size of the object: an apply that changes many values of others sets defaults
// only a few times.
func TestManyDefaults(t *testing.T) {
	typ := *views.New().Of(deployment.GroupKind())
	calls, set := 0, typ.Default
	typ.Default = func(obj map[string]any) (map[string]any, error) {
		calls++
		return set(obj)
	}
	live, updated := yamltest.Map(t, web("", "")), yamltest.Map(t, web("", ""))
	for obj, value := range map[*map[string]any]string{&live: "old", &updated: "new"} {
		labels, env := map[string]any{}, []any{}
		for i := range 1000 {
			labels[fmt.Sprintf("l%d", i)] = value
			env = append(env, map[string]any{"name": fmt.Sprintf("E%d", i), "value": value})
		}
		(*obj)["metadata"].(map[string]any)["labels"] = labels
		pod := (*obj)["spec"].(map[string]any)["template"].(map[string]any)["spec"].(map[string]any)
		pod["containers"].([]any)[0].(map[string]any)["env"] = env
	}
	text, err := ownership.Replacement(updated)
	if err != nil {
		t.Fatal(err)
	}
	verdict := ownership.Judge(ownership.Write{
		Type: &typ, Live: live, New: ownership.WithLastApplied(updated, text),
		Writer: ownership.ParseWriter(ownership.Request{Command: "kubectl apply", User: "jane"}),
	}, nil)
	if len(verdict.Findings) != 2000 || calls == 0 || calls > 100 {
		t.Errorf("%d findings, defaults set %d times", len(verdict.Findings), calls)
	}
}
