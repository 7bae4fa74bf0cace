package guard

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"holdfast.dev/holdfast/bench/side"
)

// cratesDefinition has a rule of every kind in its annotation.
const cratesDefinition = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",
"metadata":{"name":"crates.example.com","annotations":{"holdfast.dev/immutability":
"set-once spec.once\nno-set spec.noset\nno-unset spec.nounset\nno-modify spec.nomodify\nupdate=NoSet,NoModify spec.set\nimmutable-keys spec.keys\n` +
	`addition-only spec.add\ndeletion-only spec.remove\nupdate=NoUnset,NoAddItem spec.shrink\nimmutable spec.size unless resize\n` +
	`immutable spec.engine while has(oldSelf.status) && oldSelf.status.phase == \"Ready\"\n` +
	`immutable spec.zone unless move while oldSelf.status.phase == \"Ready\"\nimmutable metadata.labels[\"team\"]\n` +
	`addition-only metadata.annotations\nimmutable-keys spec.parts\nimmutable spec.parts[*].name\n` +
	`no-delete unless retire while has(oldSelf.spec.once)"}},
"spec":{"group":"example.com","scope":"Namespaced","names":{"plural":"crates","singular":"crate","kind":"Crate"},
"versions":[{"name":"v1","served":true,"storage":true,"subresources":{"status":{}},"schema":{"openAPIV3Schema":{"type":"object","properties":{
"spec":{"type":"object","properties":{"once":{"type":"string"},"noset":{"type":"string"},"nounset":{"type":"string"},"nomodify":{"type":"string"},
"set":{"type":"string"},"late":{"type":"string"},"size":{"type":"string"},"engine":{"type":"string"},"zone":{"type":"string"},"note":{"type":"string"},
"keys":{"type":"object","additionalProperties":{"type":"string"}},"add":{"type":"object","additionalProperties":{"type":"string"}},
"remove":{"type":"object","additionalProperties":{"type":"string"}},"shrink":{"type":"object","additionalProperties":{"type":"string"}},
"parts":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["name"],"items":{"type":"object","required":["name"],
"properties":{"name":{"type":"string"},"count":{"type":"integer"}}}}}},
"status":{"type":"object","properties":{"phase":{"type":"string"}}}}}}}]}}`

// rulePolicies are policies for a custom resource and a built-in one.
func rulePolicies() []string {
	return []string{
		`{"metadata":{"name":"crates"},"spec":{"resources":["crates.example.com"],"objectSelector":{"matchLabels":{"tier":"gold"}},
		"rules":["set-once spec.late","warn immutable spec.note","no-delete while has(oldSelf.spec.size) && oldSelf.spec.size == \"L\""]}}`,
		`{"metadata":{"name":"maps"},"spec":{"resources":["configmaps"],"objectSelector":{"matchLabels":{"tier":"gold"}},
		"rules":["addition-only data","no-modify data.* unless resize while oldSelf.data[\"state\"] == \"used\"","immutable metadata.labels[\"team\"]",
		"no-delete unless retire while has(oldSelf.data) && \"once\" in oldSelf.data"]}}`,
	}
}

// ruleUsers are the verbs of users. The second has the rights that rules name, and the third may not read.
var ruleUsers = map[string][]string{
	"ann": {"get", "patch", "update", "delete"},
	"bob": {"get", "patch", "update", "delete", "resize", "move", "retire", "unlock"},
	"cat": {"patch", "update", "delete"},
}

const ruled = "ruled" // the namespace of the objects

// kindOfRules is a resource with an object named random.
type kindOfRules struct {
	path, apiVersion, kind string
	// values are those of the fields, below field.
	field  string
	values map[string][]any
}

func kindsOfRules() []kindOfRules {
	words, maps := []any{"a", "b", ""}, []any{object{"a": "1"}, object{"a": "2"}, object{"a": "1", "b": "1"}, object{"b": "1"}, object{}}
	crate := map[string][]any{"size": {"L", "M"}, "parts": {
		[]any{object{"name": "a", "count": 1}, object{"name": "b"}}, []any{object{"name": "b"}, object{"name": "a", "count": 2}}, []any{object{"name": "a"}}, []any{},
	}}
	for _, name := range []string{"once", "noset", "nounset", "nomodify", "set", "late", "engine", "zone", "note"} {
		crate[name] = words
	}
	for _, name := range []string{"keys", "add", "remove", "shrink"} {
		crate[name] = maps
	}
	return []kindOfRules{
		{path: "/apis/example.com/v1/namespaces/" + ruled + "/crates", apiVersion: "example.com/v1", kind: "Crate", field: "spec", values: crate},
		{path: "/api/v1/namespaces/" + ruled + "/configmaps", apiVersion: "v1", kind: "ConfigMap", field: "data", values: map[string][]any{
			"once": words, "size": {"L", "M"}, "state": {"used", "free"}, "a": words,
		}},
	}
}

// compareRules makes the same random writes and deletions on our server and on a cluster with the guard.
func (t *trial) compareRules(ctx context.Context, ours, guarded *cluster) error {
	for _, c := range []*cluster{ours, guarded} {
		if err := t.prepareRules(ctx, c); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
	}
	counts := map[string]int{}
	var failed []error
	kinds := kindsOfRules()
	exists := map[string]bool{}
	for i := 0; i < t.Ruled && len(failed) < maxFailed; i++ {
		of := kinds[t.random.IntN(len(kinds))]
		if exists[of.kind] && t.random.IntN(writesPerShip) == 0 {
			if err := removeRuled(ctx, of, ours, guarded); err != nil {
				return err
			}
			exists[of.kind] = false
		}
		if !exists[of.kind] {
			if err := t.createRuled(ctx, of, ours, guarded); err != nil {
				return err
			}
			exists[of.kind] = true
		}
		next, err := t.nextRuled(ctx, of, ours)
		if err != nil {
			return err
		}
		var outcomes [2]outcome
		var stored [2]string
		for at, c := range []*cluster{ours, guarded} {
			if outcomes[at], stored[at], err = next.send(ctx, of, c); err != nil {
				return fmt.Errorf("%s: %s: %w", c.name, next, err)
			}
		}
		counts[next.name(outcomes[0])]++
		exists[of.kind] = stored[0] != ""
		what := fmt.Sprintf("write %d: %s", i, next)
		if err := t.explain(difference{cluster: webhook, write: what, ours: outcomes[0], theirs: outcomes[1]}); err != nil {
			failed = append(failed, err)
		}
		if stored[0] != stored[1] {
			failed = append(failed, fmt.Errorf("%s\nour server stores %s\n%s stores %s", what, stored[0], guarded.name, stored[1]))
		}
		if outcomes[0].accepted != outcomes[1].accepted || stored[0] != stored[1] {
			break // the objects differ from now on
		}
	}
	t.printf("%d random writes and deletions with all rules on 2 clusters: %v", t.Ruled, counts)
	if len(counts) < 4 {
		failed = append(failed, errors.New("the random writes and deletions compare too little"))
	}
	return errors.Join(append(failed, t.removeRules(ctx, guarded))...)
}

// prepareRules creates users, rules and a namespace, and waits until the rules are in force.
func (t *trial) prepareRules(ctx context.Context, c *cluster) error {
	post := func(path string, body any) error {
		text, isText := body.(string)
		if !isText {
			encoded, err := json.Marshal(body)
			if err != nil {
				return err
			}
			text = string(encoded)
		}
		_, err := c.client.Do(ctx, side.Request{Method: http.MethodPost, Path: path, Body: []byte(text)})
		return err
	}
	const rbac = "/apis/rbac.authorization.k8s.io/v1/"
	for user, verbs := range ruleUsers {
		role := object{"metadata": object{"name": user}, "rules": []any{object{
			"apiGroups": []any{"", "example.com", "apiextensions.k8s.io"}, "verbs": verbs,
			"resources": []any{"crates", "crates/status", "configmaps", "namespaces", "customresourcedefinitions"},
		}}}
		binding := object{
			"metadata": object{"name": user}, "roleRef": object{"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": user},
			"subjects": []any{object{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}},
		}
		if err := errors.Join(post(rbac+"clusterroles", role), post(rbac+"clusterrolebindings", binding)); err != nil {
			return err
		}
	}
	if err := post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", cratesDefinition); err != nil {
		return err
	}
	if err := post("/api/v1/namespaces", object{"metadata": object{"name": ruled}}); err != nil {
		return err
	}
	if err := t.must(ctx, c, t.Kubectl, "wait", "--for=condition=Established", "crd/crates.example.com"); err != nil {
		return err
	}
	for _, text := range rulePolicies() {
		if err := t.createPolicy(ctx, c, text); err != nil {
			return err
		}
	}
	if err := t.must(ctx, c, t.Kubectl, "wait", "--for=condition=Ready", "immutabilitypolicies", "--all", "--timeout=1m"); err != nil {
		return err
	}
	probe := `{"metadata":{"name":"probe","labels":{"tier":"gold"}},"data":{"once":"a"}}`
	if err := post("/api/v1/namespaces/"+ruled+"/configmaps", probe); err != nil {
		return err
	}
	path := "/api/v1/namespaces/" + ruled + "/configmaps/probe"
	for end := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		_, err := c.client.Do(ctx, side.Request{Method: http.MethodDelete, Path: path + "?dryRun=All", As: "ann"})
		var refused *side.StatusError
		if errors.As(err, &refused) && refused.Code == http.StatusConflict {
			break
		}
		if time.Now().After(end) {
			return fmt.Errorf("the rules are not in force: %w", err)
		}
	}
	_, err := c.client.Do(ctx, side.Request{Method: http.MethodDelete, Path: path})
	return err
}

// removeRules removes the policies and objects from the cluster with the guard.
func (t *trial) removeRules(ctx context.Context, c *cluster) error {
	if err := t.must(ctx, c, t.Kubectl, "delete", "immutabilitypolicies", "crates", "maps"); err != nil {
		return err
	}
	if err := t.must(ctx, c, t.Kubectl, "annotate", "crd", "crates.example.com", "holdfast.dev/immutability-"); err != nil {
		return err
	}
	gone := func(o outcome) bool { return o.accepted && !strings.Contains(o.text, "no-delete") }
	return t.await(ctx, c, gone, "get", "validatingwebhookconfiguration", "holdfast-guard", "-o", "jsonpath={.webhooks[*].name}")
}
